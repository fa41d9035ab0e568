import { expect, it } from "vitest";
import { EXPIRY } from "./gauges";

const binding = {
  kind: "RoleBinding",
  name: "edit",
  state: "Current",
  expiryTime: "2025-01-02T00:00:00Z",
} as const;

it("shows when a binding expires, and nothing of one that never expires or is gone", () => {
  const bindings = [
    binding,
    { ...binding, kind: "ClusterRoleBinding", name: "view" } as const,
    { kind: "RoleBinding", name: "for-ever", state: "Never" } as const,
    { ...binding, name: "revoked", state: "Revoked" } as const,
    { ...binding, name: "expired", state: "Expired" } as const,
  ];
  const labels = { namespace: "kai", name: "a" };
  expect(EXPIRY.samples("kai/a", { bindings })).toEqual([
    { labels: { ...labels, binding_kind: "RoleBinding", binding: "edit" }, value: 1735776000 },
    { labels: { ...labels, binding_kind: "ClusterRoleBinding", binding: "view" }, value: 1735776000 },
  ]);
  expect(EXPIRY.samples("kai/a", {})).toEqual([]);
});
