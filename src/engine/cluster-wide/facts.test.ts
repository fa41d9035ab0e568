import { describe, expect, it } from "vitest";
import { binding as bindingOf } from "../../core/testing/views";
import type { NamespaceView, SubjectView, WorkloadView } from "../../core/views";
import { BoundAccounts, type FactsPorts, FactsReader, protectOf } from "./facts";
import { OPERATOR_NAMESPACE } from "./testing/fixtures";
import { ClusterWideWorld, workloadView } from "./testing/world";

const PROTECT = "controller-resilience.io/protect";
const API = "https://kubernetes.default.svc";

async function read(workload: Partial<WorkloadView>, namespace: Partial<NamespaceView> = {}, automount?: boolean) {
  const world = new ClusterWideWorld();
  world.addNamespace("a", []);
  const space = world.spaces.get("a");
  if (space !== undefined) world.spaces.set("a", { ...space, ...namespace });
  world.found.set("a", [workloadView("a", "Deployment/web", workload)]);
  const account = { ...{ namespace: "a", name: "default", uid: "u", createdAtMs: 0 }, automount };
  world.serviceAccounts = () => Promise.resolve([account as never]);
  const settings = { ownNamespace: OPERATOR_NAMESPACE, isWatched: () => true };
  // cached() needs neither live readers nor the store.
  const ports = { caches: world } as unknown as FactsPorts;
  const facts = await new FactsReader(ports, settings, () => undefined).cached("a");
  return { namespace: facts?.namespace, workload: facts?.candidates[0] };
}

describe("the facts of a namespace", () => {
  it.each<[string, Record<string, string>, Record<string, string>, boolean | undefined]>([
    ["a label", { [PROTECT]: "true" }, {}, true],
    ["a label that says no", { [PROTECT]: "false" }, {}, false],
    ["an annotation", {}, { [PROTECT]: "true" }, true],
    ["an annotation that says no", {}, { [PROTECT]: "false" }, false],
    ["both: false in the label wins", { [PROTECT]: "false" }, { [PROTECT]: "true" }, false],
    ["both: false in the annotation wins", { [PROTECT]: "true" }, { [PROTECT]: "false" }, false],
    ["the annotation beside another label", { [PROTECT]: "no" }, { [PROTECT]: "false" }, false],
    ["another value, which counts as none", { [PROTECT]: "yes" }, { [PROTECT]: "true" }, undefined],
    ["nothing", {}, {}, undefined],
  ])("take protect from %s, of Namespaces and of workloads", async (_what, labels, annotations, expected) => {
    const { namespace, workload } = await read({ labels, annotations }, { labels, annotations });
    expect([protectOf(namespace!), protectOf(workload!)]).toEqual([expected, expected]);
  });

  it.each<[string, Partial<WorkloadView>, boolean | undefined, boolean]>([
    ["the default", {}, undefined, true],
    ["a pod template that mounts none", { automount: false }, undefined, false],
    ["a ServiceAccount that mounts none", {}, false, false],
    ["a pod template that wins over its ServiceAccount", { automount: true }, false, true],
    ["a projected token", { automount: false, tokenAudiences: [""] }, false, true],
    ["a projected token for the API server's audience", { automount: false, tokenAudiences: [API] }, false, true],
    ["a projected token for another audience", { automount: false, tokenAudiences: ["vault"] }, false, false],
    ["a ServiceAccount that nothing is bound to", { serviceAccountName: "other" }, undefined, false],
  ])("tell whether a workload uses the API: %s", async (_what, view, automount, usesApi) => {
    expect((await read(view, {}, automount)).workload?.usesApi).toBe(usesApi);
  });
});

const binding = (...subjects: SubjectView[]) => bindingOf({ subjects });
const account = (namespace: string, name: string): SubjectView => ({ kind: "ServiceAccount", namespace, name });
const group = (name: string): SubjectView => ({ kind: "Group", name });

describe("BoundAccounts", () => {
  it("knows an account as long as one binding of any namespace names it", () => {
    const bound = new BoundAccounts();
    expect([...bound.replace("a", [binding(account("web", "x"))])]).toEqual(["web"]);
    expect([...bound.replace("", [binding(account("web", "x"), account("db", "y"))])]).toEqual(["db"]);
    expect([bound.has("web", "x"), bound.has("db", "y"), bound.has("web", "y")]).toEqual([true, true, false]);
    expect([...bound.replace("a", [])]).toEqual([]);
    expect([...bound.replace("", [])]).toEqual(["web", "db"]);
    expect(bound.has("web", "x")).toBe(false);
  });

  it("knows an account by its user name, too", () => {
    const bound = new BoundAccounts();
    bound.replace("a", [
      binding({ kind: "User", name: "system:serviceaccount:web:x" }, { kind: "User", name: "jane" }),
    ]);
    expect([bound.has("web", "x"), bound.has("web", "y"), bound.has("jane", "")]).toEqual([true, false, false]);
  });

  it("counts the group of a namespace, and not the groups that the defaults bind", () => {
    const bound = new BoundAccounts();
    bound.replace("a", [binding(group("system:serviceaccounts:web"))]);
    expect([bound.has("web", "any"), bound.has("db", "any")]).toEqual([true, false]);
    bound.replace("a", [binding(group("system:serviceaccounts"), group("system:authenticated"))]);
    expect(bound.has("web", "any")).toBe(false);
  });
});
