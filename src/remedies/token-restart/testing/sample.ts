import { legacySample } from "../../../core/legacy-remedy";
import type { Decision } from "../../../core/legacy-remedy";
import type { RestartStatus } from "../../../api/controller-resilience";
import { requestedRestart } from "../../../core/restarts/budget";
import type { TokenRestartFacts } from "../facts";
import { createTokenRestart } from "../remedy";
import { tokenRestartFacts, tokenRestartSpecs } from "./arbitrary";

/** For the contract test. */
export const sample = legacySample(createTokenRestart(), {
  observed: tokenRestartFacts,
  specs: tokenRestartSpecs,
  applied: restarted,
});

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
