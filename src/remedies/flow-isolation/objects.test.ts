import { expect, it } from "vitest";
import type { ClusterObjectView } from "../../core/views";
import type { FlowIsolationFacts } from "./facts";
import { wantedLeaseFlow } from "./objects";
import { planFlows } from "./plan";
import { DEFAULTS } from "./testing/scene";

const right: ClusterObjectView = {
  apiVersion: "flowcontrol.apiserver.k8s.io/v1",
  kind: "FlowSchema",
  name: "a",
  uid: "u",
  resourceVersion: "1",
  createdAtMs: 0,
  labels: { owner: "me", team: "x" },
  annotations: { for: "team/it", note: "y" },
  spec: { rules: [{ verbs: ["*"] }] },
  conditions: [],
};

it("a plan looks at each FlowSchema of the cluster a few times, however many ServiceAccounts it has", () => {
  const owner = {
    metadata: { namespace: "team", name: "it", uid: "u", generation: 1, resourceVersion: "1", creationTimestamp: "" },
  };
  let reads = 0;
  const schemas = Array.from({ length: 50 }, (_, at): ClusterObjectView => {
    const { spec, ...view } = { ...right, ...wantedLeaseFlow({ owner }, `other-${at}`) };
    return Object.defineProperty({ ...view, spec: {} }, "spec", { get: () => (reads++, spec) });
  });
  const facts = (accounts: number): FlowIsolationFacts => ({
    ...{ mode: "Enforce", generation: 1, owner, levels: [], schemas, leftOut: [], missingTargets: [] },
    accounts: Array.from({ length: accounts }, (_, at) => ({ name: `app-${at}`, runningPods: 1, isComponent: false })),
    rates: { spans: {}, servers: { found: 1, read: 1 }, readMs: 1 },
  });
  planFlows(facts(1), DEFAULTS, new Date(0));
  const ofOne = reads;
  planFlows(facts(32), DEFAULTS, new Date(0));
  expect(reads - ofOne).toBeLessThanOrEqual(ofOne);
});
