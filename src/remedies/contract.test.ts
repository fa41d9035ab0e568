import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../api/controller-resilience";
import { requestedRestart } from "../core/restarts/budget";
import { isPermitted, requiredPermission } from "../engine/write/permissions";
import { applied, bindingRenewalFacts, bindingRenewalSpecs } from "./binding-renewal/testing/arbitrary";
import { applied as isolated, flowIsolationFacts, flowIsolationSpecs } from "./flow-isolation/testing/arbitrary";
import { createRemedies } from "./registry";
import { applied as shortened, tokenLifetimeFacts, tokenLifetimeSpecs } from "./token-lifetime/testing/arbitrary";
import { tokenRestartFacts, tokenRestartSpecs } from "./token-restart/testing/arbitrary";
import type { TokenRestartFacts } from "./token-restart/facts";
import type { Decision, RemedyKey } from "../core/remedy";

/** What a contract needs of each remedy: any facts, any spec, and facts after a plan was carried out. */
interface Sample {
  readonly facts: fc.Arbitrary<unknown>;
  readonly specs: fc.Arbitrary<unknown>;
  readonly applied: (facts: never, decision: Decision, now: Date) => unknown;
}

const SAMPLES: Partial<Record<RemedyKey, Sample>> = {
  tokenRestart: { facts: tokenRestartFacts, specs: tokenRestartSpecs, applied: restarted },
  bindingRenewal: { facts: bindingRenewalFacts, specs: bindingRenewalSpecs, applied },
  tokenLifetime: { facts: tokenLifetimeFacts, specs: tokenLifetimeSpecs, applied: shortened },
  flowIsolation: { facts: flowIsolationFacts, specs: flowIsolationSpecs, applied: isolated },
};

/** The executor has noted the restarts, and the pods are terminating. */
function restarted(facts: TokenRestartFacts, decision: Decision, now: Date): TokenRestartFacts {
  const claims = decision.intents.flatMap(({ restart }) => restart ?? []);
  const noted = claims.map((claim): RestartStatus => ({ ...requestedRestart(claim, now), outcome: "Restarted" }));
  const gone = new Set(claims.map(({ podUID }) => podUID));
  return {
    ...facts,
    restarts: [...(decision.parts?.restarts ?? []), ...noted],
    previousTargets: decision.parts?.targets ?? [],
    workloads: facts.workloads.map(own => ({
      ...own,
      pods: own.pods.map(one =>
        gone.has(one.pod.uid) ? { ...one, pod: { ...one.pod, deletedAtMs: now.getTime() } } : one,
      ),
    })),
  };
}

/** More than any remedy needs to come to its first write. */
const MAX_PASSES = 4;

const dates = fc.date({
  min: new Date("2025-01-01T00:00:00Z"),
  max: new Date("2025-01-02T00:00:00Z"),
  noInvalidDate: true,
});

describe.each(createRemedies().map(remedy => [remedy.name, remedy] as const))("%s", (_, remedy) => {
  const sample = SAMPLES[remedy.key];
  if (sample === undefined) throw new Error(`expected samples of facts of ${remedy.name}`);
  const decide = (facts: unknown, spec: unknown, now: Date): Decision => remedy.decide(facts, spec as never, now);
  const check = (property: (facts: never, spec: unknown, now: Date) => void): void =>
    fc.assert(
      fc.property(sample.facts, sample.specs, dates, (facts, spec, now) => {
        property(facts as never, spec, now);
      }),
      { numRuns: 500 },
    );

  it("decides about anything without throwing, and twice the same", () => {
    check((facts, spec, now) => {
      expect(decide(facts, spec, now)).toEqual(decide(facts, spec, now));
    });
  });

  it("does nothing while something is Unknown", () => {
    check((facts, spec, now) => {
      const decision = decide(facts, spec, now);
      if (decision.status === "Unknown") expect(decision.intents).toEqual([]);
    });
  });

  it("wants nothing that it has not declared", () => {
    let intents = 0;
    check((facts, spec, now) => {
      for (const intent of decide(facts, spec, now).intents) {
        expect(isPermitted(requiredPermission(intent), remedy.may)).toBe(true);
        intents++;
      }
    });
    expect(intents).toBeGreaterThan(20);
  });

  it("wants nothing more of what its plan was carried out on", () => {
    check((facts, spec, now) => {
      let [before, decision] = [facts, decide(facts, spec, now)];
      // Some things are written down first, or wait for one another: their turn comes in a later pass.
      for (let pass = 0; pass < MAX_PASSES && decision.intents.length === 0; pass++) {
        before = sample.applied(before, decision, now) as never;
        decision = decide(before, spec, now);
      }
      const written = decision.intents.map(({ target }) => `${target.kind}/${target.name}`);
      const again = decide(sample.applied(before, decision, now), spec, now).intents;
      expect(again.filter(({ target }) => written.includes(`${target.kind}/${target.name}`))).toEqual([]);
    });
  });

  it("has words for every outcome, and adds no intents", () => {
    const outcomes = [
      { result: "Executed" },
      { result: "NotLeader" },
      { result: "Limited", limit: "MaxRestarts", retryAfterMs: 1_000 },
      { result: "Blocked", message: "no", retryAfterMs: 1_000 },
      { result: "Failed", message: "no" },
    ] as const;
    check((facts, spec, now) => {
      const decision = decide(facts, spec, now);
      for (const outcome of outcomes) {
        const carried = decision.intents.map(intent => ({ intent, outcome }));
        const concluded = remedy.conclude?.(decision, carried, now) ?? decision;
        expect(concluded.intents.length).toBeLessThanOrEqual(decision.intents.length);
      }
    });
  });
});
