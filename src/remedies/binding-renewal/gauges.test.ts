import { expect, it } from "vitest";
import type { StatusOwner } from "../../core/ports";
import { BINDING_GAUGES } from "./gauges";

const binding = {
  kind: "RoleBinding",
  name: "edit",
  state: "Current",
  expiryTime: "2025-01-02T00:00:00Z",
} as const;

const sampled = (status: object, spec: object = {}) =>
  BINDING_GAUGES.map(gauge => gauge.samples("kai/a", { spec, status } as StatusOwner));

it("show when a binding expires and is renewed, and nothing of one that never expires or is gone", () => {
  const bindings = [
    { ...binding, renewTime: "2025-01-01T00:00:00Z" },
    { ...binding, kind: "ClusterRoleBinding", name: "view", state: "Forbidden" } as const,
    { kind: "RoleBinding", name: "for-ever", state: "Never" } as const,
    { ...binding, name: "revoked", state: "Revoked" } as const,
    { ...binding, name: "expired", state: "Expired" } as const,
  ];
  const edit = { namespace: "kai", name: "a", binding_kind: "RoleBinding", binding: "edit" };
  const view = { ...edit, binding_kind: "ClusterRoleBinding", binding: "view" };
  expect(sampled({ bindings })).toEqual([
    [
      { labels: edit, value: 1735776000 },
      { labels: view, value: 1735776000 },
    ],
    [{ labels: edit, value: 1735689600 }],
  ]);
  expect(sampled({})).toEqual([[], []]);
  const [expiries, renewals] = sampled({ bindings }, { suspend: true });
  expect([expiries?.length, renewals]).toEqual([2, []]);
});
