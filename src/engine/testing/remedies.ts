import { Cause } from "../../api/conditions";
import type { Clock } from "../../core/time";
import type { Intent, RestartClaim } from "../../core/intent";
import type { Readers } from "../../core/readers";
import type { RemedyBlock, Report } from "../../core/remedy";
import { EmptyReaders } from "../../core/testing/empty-readers";

export { makeDecision, makeRemedy } from "./fake-remedy";

/** Readers of which remedies under test use the clock only. */
export function makeReaders(clock: Clock): Readers {
  return new EmptyReaders(clock);
}

/** A report with nothing wrong. */
export function makeReport(changes: Partial<Report> = {}): Report {
  return { status: "True", reason: "Accepted", message: "Fine.", ...changes };
}

/** What a restart says of itself. Its cause is proven, so that it does not wait for other objects' restarts. */
export function makeClaim(pod = "app-1", changes: Partial<RestartClaim> = {}): RestartClaim {
  return {
    workload: "Deployment/app",
    pod,
    podUID: `uid-of-${pod}`,
    newestPodMs: 0,
    cause: Cause.ServiceAccountRecreated,
    limits: { cooldownMs: 600_000, maxRestarts: 3 },
    ...changes,
  };
}

export function makeEviction(pod = "app-1", changes: Partial<Intent> = {}): Intent {
  return {
    verb: "evict",
    target: { apiVersion: "v1", kind: "Pod", namespace: "team", name: pod, uid: `uid-of-${pod}` },
    why: `Pod ${pod} is answered 401.`,
    eventReason: "PodEvicted",
    restart: makeClaim(pod),
    ...changes,
  };
}

/** A write that restarts nothing. */
export function makePatch(name = "app", changes: Partial<Intent> = {}): Intent {
  return {
    verb: "patch",
    target: { apiVersion: "apps/v1", kind: "Deployment", namespace: "team", name, uid: `uid-of-${name}` },
    body: { metadata: { annotations: { a: "b" } } },
    why: "It must be so.",
    eventReason: "Patched",
    ...changes,
  };
}

/** A spec in which these remedies are on, with what the schema defaults left out. */
export function specWith(...keys: RemedyBlock[]): Record<string, never> {
  return Object.fromEntries(keys.map(key => [key, {} as never]));
}
