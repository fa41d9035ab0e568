import { expect, it } from "vitest";
import { makeObject } from "../../core/testing/objects";
import type { ClusterObjectView } from "../../core/views";
import { leaseFlow, presentFlow } from "./objects";
import { planFlows } from "./plan";
import { DEFAULTS } from "./testing/scene";

it("a plan looks at each FlowSchema of the cluster a few times, however many ServiceAccounts it has", () => {
  const owner = makeObject("team/it");
  let reads = 0;
  const schemas = Array.from({ length: 50 }, (_, at): ClusterObjectView => {
    const { spec, ...wanted } = leaseFlow({ owner, schemas: [] }, `other-${at}`).wanted;
    const view = {
      ...wanted,
      apiVersion: "",
      uid: "u",
      resourceVersion: "1",
      createdAtMs: 0,
      spec: {},
    };
    return Object.defineProperty(view, "spec", { get: () => (reads++, spec) });
  });
  const control = { owner, schemas, levels: [] };
  const plan = (accounts: number): void => {
    const names = Array.from({ length: accounts }, (_, at) => `app-${at}`);
    const facts = { mode: "Enforce", generation: 1, kept: [], leftOut: [], missingTargets: [], ...control } as const;
    const rates = { spans: {}, servers: { found: 1, read: 1 }, readMs: 1 };
    const of = (name: string) => {
      const pieces = { present: presentFlow(control, name), lease: leaseFlow(control, name) };
      return { name, ...pieces, runningPods: 1, isComponent: false, isSpared: false, isOperator: false };
    };
    planFlows({ ...facts, rates, accounts: names.map(of) }, DEFAULTS, new Date(0));
  };
  plan(1);
  const ofOne = reads;
  plan(32);
  expect(reads - ofOne).toBeLessThanOrEqual(ofOne);
});
