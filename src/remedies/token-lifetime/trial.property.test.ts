import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { trialMs } from "./harm";
import { planTokenLifetime } from "./plan";
import { type ObservedDaemonSet, type Spec, isOnTrial } from "./subject";
import { applied, observations, specs } from "./testing/arbitrary";
import { firstPodOf, isNodeAgent } from "./trial";

const NOW = new Date("2025-01-01T12:00:00Z");

interface Body {
  readonly spec: { readonly updateStrategy?: { readonly type: string } };
}

/** One pod has worked for the life of its token, and for a CNI agent pods have started on its node. */
function isProven(daemonSet: ObservedDaemonSet, spec: Spec): boolean {
  const first = firstPodOf(daemonSet, spec);
  if (first === undefined || !first.pod.ready) return false;
  const isOld = NOW.getTime() >= first.pod.createdAtMs + trialMs(spec);
  return isOld && first.logState === "quiet" && (!isNodeAgent(daemonSet) || first.hasSandboxStarted === true);
}

describe("a shorter token in a template", () => {
  it("is rolled out only after one pod has proven it", () => {
    fc.assert(
      fc.property(observations, specs, (observed, spec) => {
        for (const { finding, intents } of planTokenLifetime(observed, spec, NOW).daemonSets) {
          const daemonSet = observed.daemonSets.find(({ view }) => view.name === finding.entry.name);
          for (const { target, body, eventReason } of intents) {
            if (target.kind !== "DaemonSet" || eventReason !== "TokenLifetimeShortened") continue;
            const isTrial = (body as Body).spec.updateStrategy?.type === "OnDelete";
            const isRelease = !JSON.stringify(body).includes(`"expirationSeconds":${spec.expirationSeconds}`);
            expect(isTrial || isRelease || isProven(daemonSet!, spec)).toBe(true);
          }
        }
      }),
    );
  });

  it("is not ended by the pass that follows the beginning of its trial", () => {
    fc.assert(
      fc.property(observations, specs, (observed, spec) => {
        const plan = planTokenLifetime(observed, spec, NOW);
        const after = applied(observed, plan, NOW);
        for (const { view } of after.daemonSets) {
          const before = observed.daemonSets.find(one => one.view.name === view.name);
          if (!isOnTrial(view) || before === undefined || isOnTrial(before.view)) continue;
          // A trial that just began is not ended by the next pass.
          const next = planTokenLifetime(after, spec, NOW).daemonSets.find(
            ({ finding }) => finding.entry.name === view.name,
          );
          expect(next?.intents.filter(({ target }) => target.kind === "DaemonSet") ?? []).toEqual([]);
        }
      }),
    );
  });
});
