import { expect, it } from "vitest";
import { expiringBindings } from "./checks";
import type { AuditFacts } from "./facts";

it("bindings that the operator should have renewed by now are told, and those that it will renew are not", () => {
  const nowMs = Date.now();
  const at = (ms: number): string => new Date(nowMs + ms).toISOString();
  const named = { kind: "RoleBinding", namespace: "shop" } as const;
  const annotations = { "controller-resilience.io/expires-at": at(86_400_000) };
  const binding = (name: string) => ({
    ...named,
    name,
    annotations,
    labels: {},
    subjects: [],
    roleRef: { kind: "Role", name: "r" },
  });
  const entry = (name: string, dueMs: number) => ({ kind: named.kind, name, state: "Current", renewTime: at(dueMs) });
  const status = { bindings: [entry("left", 3_600_000), entry("late", -60_000)] };
  const object = { metadata: { namespace: "shop" }, spec: { mode: "Enforce" }, status };
  const told = (by: object): string[] => {
    const facts = { bindings: [binding("left"), binding("late")], objects: [by], nowMs };
    return expiringBindings(facts as unknown as AuditFacts).map(({ name }) => name);
  };
  expect(told(object)).toEqual(["late"]);
  expect(told({ ...object, metadata: { namespace: "shop", deletionTimestamp: at(0) } })).toEqual(["left", "late"]);
});

it("bindings with a value that the operator cannot read, and their enforcer may, are not said to live for ever", () => {
  const labels = { "cleanup.kyverno.io/ttl": "1h30m" };
  const view = { kind: "RoleBinding", namespace: "shop", name: "a", annotations: {}, labels, createdAtMs: 0 };
  const [finding] = expiringBindings({ bindings: [view], nowMs: 0 } as unknown as AuditFacts);
  expect(finding?.why).toContain("cleanup.kyverno.io/ttl");
  expect(finding?.why).not.toContain("never deletes");
});

it("bindings that have expired are not left to the operator, which never extends access that has ended", () => {
  const annotations = { "janitor/ttl": "1d" };
  const rest = { annotations, labels: {}, subjects: [], roleRef: { kind: "Role", name: "r" } };
  const view = { kind: "RoleBinding", namespace: "shop", name: "a", createdAtMs: 0, ...rest };
  const [finding] = expiringBindings({ bindings: [view], objects: [], nowMs: 2 * 86_400_000 } as unknown as AuditFacts);
  expect(finding?.wayOut).not.toContain("bindingRenewal");
});
