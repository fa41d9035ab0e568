import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Intent } from "../../../core/intent";
import type { Plan } from "../../../core/remedy";
import { isOpen } from "../../../core/restarts/budget";
import { intentsOf } from "../../../core/testing/remedy-sample";
import { isBounded, type ObservedPod, type Observed } from "../observed";
import { planTokenLifetime } from "../plan";
import { observations } from "../testing/arbitrary";
import { DEFAULTS, PLAIN } from "../testing/scene";

const SPEC = { ...DEFAULTS, via: "Admission" } as const;
const START = Date.parse("2025-01-01T00:00:00Z");
const dates = fc.date({
  min: new Date(START),
  max: new Date("2025-01-02T00:00:00Z"),
  noInvalidDate: true,
});

/** Only long tokens: few of all observations allow an eviction. */
const calm = observations.map(
  (facts): Observed => ({
    ...facts,
    mode: "Enforce",
    daemonSets: facts.daemonSets.map(({ view, pods }) => ({
      lacksServiceAccount: false,
      view: { ...view, template: PLAIN, skip: false, observedGeneration: view.generation },
      pods: pods.map(one => ({
        ...one,
        logState: "quiet",
        pod: { ...one.pod, mountsToken: true, createdAtMs: START },
      })),
    })),
  }),
);

/** Runs a property on all intents; returns how many intents it checked. */
function forAll(property: (intents: readonly Intent[], facts: Observed, plan: Plan, nowMs: number) => number): number {
  let seen = 0;
  fc.assert(
    fc.property(fc.oneof(observations, calm), dates, fc.nat(1_200), (some, now, seconds) => {
      const time = new Date(now.getTime() - 1000 * seconds).toISOString();
      // Old restarts have an outcome.
      const facts = { ...some, restarts: some.restarts.map(entry => ({ ...entry, time })) };
      const plan = planTokenLifetime(facts, SPEC, now);
      seen += property(intentsOf(plan), facts, plan, now.getTime());
    }),
    { numRuns: 2_000 },
  );
  return seen;
}

const evictionsOf = (intents: readonly Intent[]): Intent[] => intents.filter(({ verb }) => verb === "evict");

function podOf({ target }: Intent, { daemonSets }: Observed): ObservedPod {
  const pod = daemonSets.flatMap(({ pods }) => pods).find(one => one.pod.uid === target.uid);
  if (pod === undefined) throw new Error("expected a pod that is there");
  return pod;
}

describe("an eviction", () => {
  it("is at most one, and none while another is open", () => {
    const seen = forAll((intents, _, { restarts }) => {
      const evictions = evictionsOf(intents);
      expect(evictions.length).toBeLessThanOrEqual(restarts?.some(isOpen) === true ? 0 : 1);
      return evictions.length;
    });
    expect(seen).toBeGreaterThan(50);
  });

  it("is of a pod with a longer token that no policy of 30 seconds could shorten, or of one that gets 401s", () => {
    forAll((intents, facts, _, nowMs) => {
      for (const intent of evictionsOf(intents)) {
        const { pod, logState } = podOf(intent, facts);
        expect(pod.deletedAtMs).toBeUndefined();
        if (isBounded(pod, SPEC)) expect(logState).toBe("persistent");
        else {
          const policy = facts.admission?.policies.find(({ annotations }) =>
            intent.restart?.workload.endsWith(`/${annotations["controller-resilience.io/daemonset"] ?? ""}`),
          );
          expect(policy!.createdAtMs).toBeLessThanOrEqual(nowMs - 30_000);
          expect(pod.createdAtMs).toBeLessThan(Math.max(policy!.createdAtMs + 30_000, nowMs));
        }
      }
      return 0;
    });
  });
});

describe("a policy or binding", () => {
  it("is written only if no other owner has its name", () => {
    const seen = forAll((intents, { admission, owner }) => {
      const all = [...(admission?.policies ?? []), ...(admission?.bindings ?? [])];
      const writes = intents.filter(({ target }) => target.kind.startsWith("MutatingAdmissionPolicy"));
      for (const { verb, target } of writes) {
        const view = all.find(({ kind, name }) => kind === target.kind && name === target.name);
        expect(verb === "create").toBe(view === undefined);
        if (view === undefined) continue;
        expect(view.labels["controller-resilience.io/owner-uid"]).toBe(owner.metadata.uid);
        expect([target.uid, target.resourceVersion]).toEqual([view.uid, view.resourceVersion]);
      }
      return writes.length;
    });
    expect(seen).toBeGreaterThan(500);
  });

  it("is not written if the API server does not serve the kind", () => {
    forAll((intents, { admission }) => {
      if (admission === null) expect(intents.filter(({ verb }) => verb !== "evict" && verb !== "apply")).toEqual([]);
      return 0;
    });
  });
});
