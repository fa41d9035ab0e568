import { expect, it } from "vitest";
import type { Facts } from "./facts";
import { protectionsOf, unfollowedKinds } from "./coverage";
import { planNamespace } from "./plan";
import {
  beingDeleted,
  candidate,
  carryOut,
  clusterObject,
  facts,
  handWritten,
  namespaceFacts,
} from "./testing/fixtures";

const NAME = "web";
const generated = carryOut([], planNamespace(facts({ clusterObjects: [clusterObject("all", { mode: "Enforce" })] })));
const web = (more: Parameters<typeof candidate>[1]) => [candidate("Deployment/web", more)];
const selecting = (workloads: Facts["clusterObjects"][number]["spec"]["workloads"]) => {
  return { clusterObjects: [clusterObject("all", { workloads })] };
};

it.each<[string, Partial<Facts>]>([
  ["protected/Enforce", { objects: generated }],
  ["protected/Observe", { objects: generated, observes: true }],
  ["protected/Observe", { objects: [handWritten("a", [{ kind: "Deployment", name: "web" }], { mode: "Observe" })] }],
  ["excluded/Suspended", { objects: [handWritten("a", [{ kind: "Deployment", name: "web" }], { suspend: true })] }],
  [
    "protected/Observe",
    {
      objects: [{ mode: "Observe" as const }, { suspend: true }].map((spec, i) =>
        handWritten(`a${i}`, [{ kind: "Deployment", name: "web" }], spec),
      ),
    },
  ],
  ["unprotected/Pending", { objects: generated.map(beingDeleted) }],
  ["unprotected/Pending", { objects: [beingDeleted(handWritten("a", [{ kind: "Deployment", name: "web" }]))] }],
  ["excluded/OptedOut", { candidates: web({ protect: false }) }],
  ["excluded/OptedOut", { namespace: namespaceFacts(NAME, { protect: false }) }],
  ["excluded/Skipped", { objects: generated, candidates: web({ skip: true }) }],
  ["excluded/Skipped", { objects: generated, namespace: namespaceFacts(NAME, { skip: true }) }],
  ["excluded/OperatorNamespace", { ownNamespace: NAME }],
  ["excluded/Terminating", { namespace: namespaceFacts(NAME, { deletedAtMs: 1 }) }],
  ["unprotected/NamespaceNotSelected", { clusterObjects: [clusterObject("all", { excludeNamespaces: ["w*"] })] }],
  ["unprotected/KindNotSelected", selecting({ kinds: ["DaemonSet"], selector: {} })],
  ["unprotected/WorkloadNotSelected", selecting({ kinds: ["Deployment"], selector: { matchLabels: { team: "a" } } })],
  ["unprotected/Pending", {}],
])("a workload that uses the API is %s", (expected, more) => {
  const of = facts(more);
  const [found] = protectionsOf(of, planNamespace(of));
  expect(found).toEqual({
    ...{ workload: "web/Deployment/web", usesApi: true },
    protection: expected.split("/")[0],
    reason: expected.split("/")[1],
  });
});

it("leaves out what does not use the API, unless a generated object protects it", () => {
  const of = facts({ candidates: web({ usesApi: false }) });
  expect(protectionsOf(of, planNamespace(of))).toEqual([]);
  const listed = facts({ candidates: web({ usesApi: false }), objects: generated });
  expect(protectionsOf(listed, planNamespace(listed))).toMatchObject([{ usesApi: false, protection: "protected" }]);
});

it.each([
  [
    "the one whose name says most",
    ["cert", "cert-manager", "cert-manager-webhook"],
    "cert-manager-certificates-readiness",
    ["cert-manager"],
  ],
  ["nobody where only a part of a word fits", ["cert-manager"], "cert-managers", []],
  ["nobody where a name is only a part", ["cert-manager"], "manager", []],
  ["nobody where two fit", ["cert-manager", "other/cert-manager"], "cert-manager", []],
  ["the one of two that uses the API", ["cert-manager", "idle/cert-manager"], "cert-manager", ["cert-manager"]],
])("the workload that writes the status of a kind is %s", (_, names, writer, expected) => {
  const workloads = names.map(name => ({
    workload: name.includes("/") ? name.replace("/", "/Deployment/") : `infra/Deployment/${name}`,
    usesApi: !name.startsWith("idle/"),
  }));
  const found = unfollowedKinds([{ apiVersion: "c.io/v1", kind: "C", writers: [writer] }], workloads, new Set());
  expect(found.map(({ workload }) => workload)).toEqual(expected.map(name => `infra/Deployment/${name}`));
});
