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

// Whatever the facts are.

const SPEC = { ...DEFAULTS, via: "Admission" } as const;
const START = Date.parse("2025-01-01T00:00:00Z");
const dates = fc.date({
  min: new Date(START),
  max: new Date("2025-01-02T00:00:00Z"),
  noInvalidDate: true,
});

/** Nothing but tokens that are too long: few of all facts let a pod be replaced. */
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

/** Runs a property on all intents; returns how many of those that it is about were seen. */
function forAll(property: (intents: readonly Intent[], facts: Observed, plan: Plan, nowMs: number) => number): number {
  let seen = 0;
  fc.assert(
    fc.property(fc.oneof(observations, calm), dates, fc.nat(1_200), (some, now, seconds) => {
      const time = new Date(now.getTime() - 1000 * seconds).toISOString();
      // Those of long ago have an outcome.
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
  it("is one at most, and none while another is open", () => {
    const seen = forAll((intents, _, { restarts }) => {
      const evictions = evictionsOf(intents);
      expect(evictions.length).toBeLessThanOrEqual(restarts?.some(isOpen) === true ? 0 : 1);
      return evictions.length;
    });
    expect(seen).toBeGreaterThan(50);
  });

  it("is of a pod with a longer token that no policy of 30 seconds could shorten, or of one that is answered 401", () => {
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
  it("is written only where nobody else has its name", () => {
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

  it("is wanted of no API server that does not know it", () => {
    forAll((intents, { admission }) => {
      if (admission === null) expect(intents.filter(({ verb }) => verb !== "evict" && verb !== "apply")).toEqual([]);
      return 0;
    });
  });
});
