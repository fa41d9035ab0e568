import { describe, expect, it } from "vitest";
import { viewIn } from "../../../core/desired";
import type { ClusterObjectView } from "../../../core/views";
import { AdmissionScene } from "../testing/admission-scene";
import { DEFAULTS } from "../testing/scene";
import { buildPair } from "./intents";
import { isComplete, isDrifted, pairOf, type Pair } from "./pair";

/** The pair of a DaemonSet, after a change of its policy. */
async function pairAfter(change: Partial<ClusterObjectView>): Promise<[Pair, string[]]> {
  const scene = new AdmissionScene();
  await scene.pass();
  const views = [...scene.clusterViews.values()];
  const policies = views.filter(({ kind }) => kind === "MutatingAdmissionPolicy").map(view => ({ ...view, ...change }));
  const bindings = views.filter(({ kind }) => kind === "MutatingAdmissionPolicyBinding");
  const pair = pairOf(scene.set(), { owner: scene.object, admission: { policies, bindings } }, DEFAULTS);
  const verbs = buildPair(pair, "agent", scene.object, "").map(({ verb, target }) => `${verb} ${target.kind}`);
  return [pair, verbs];
}

describe("a policy that is being deleted", () => {
  it("is in force until then", async () => {
    const [pair, writes] = await pairAfter({ deletedAtMs: 1 });
    expect(pair.halves.map(({ state }) => state.is)).toEqual(["deleting", "right"]);
    expect([isComplete(pair), pair.halves.some(isDrifted), writes]).toEqual([true, false, []]);
  });

  it("is repaired if it has another spec", async () => {
    const [pair, writes] = await pairAfter({ deletedAtMs: 1, spec: {} });
    expect([isComplete(pair), pair.halves.map(isDrifted)]).toEqual([false, [true, false]]);
    expect(writes).toEqual(["apply MutatingAdmissionPolicy"]);
  });
});

describe("a policy", () => {
  it("is drifted if another manager adds a field", async () => {
    const [complete] = await pairAfter({});
    const { spec } = viewIn(complete.halves[0]!.state)!;
    const [pair, writes] = await pairAfter({ spec: { ...spec, variables: [] } });
    expect(pair.halves.map(({ state }) => state.is)).toEqual(["different", "right"]);
    expect(writes).toEqual(["apply MutatingAdmissionPolicy"]);
  });
});
