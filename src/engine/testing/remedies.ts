import { Cause, ConditionType } from "../../api/conditions";
import type { Clock } from "../../core/clock";
import type { Intent, RestartClaim } from "../../core/intent";
import type { Readers } from "../../core/readers";
import { adapt, type Decision, type LegacyRemedy } from "../../core/legacy-remedy";
import type { Remedy, RemedyBlock, Report } from "../../core/remedy";
import { EmptyReaders } from "../../core/testing/empty-readers";

/** Readers of which remedies under test use the clock only. */
export function makeReaders(clock: Clock): Readers {
  return new EmptyReaders(clock);
}

/** A decision with nothing to do. */
export function makeDecision(changes: Partial<Decision> = {}): Decision {
  return { status: "True", reason: "Accepted", message: "Fine.", intents: [], ...changes };
}

/** A report with nothing wrong. */
export function makeReport(changes: Partial<Report> = {}): Report {
  return { status: "True", reason: "Accepted", message: "Fine.", ...changes };
}

/** A remedy that decides what it is told, with the rights to evict pods and patch Deployments. */
export function makeRemedy(
  decide: Decision | ((facts: unknown, now: Date) => Decision) = makeDecision(),
  changes: Partial<LegacyRemedy> = {},
): Remedy {
  return adapt({
    name: "token-restart",
    block: "tokenRestart",
    condition: ConditionType.TokensAccepted,
    reasons: {
      Rejected: { event: "Warning", help: "" },
      Restarting: { event: "Normal", help: "" },
      Accepted: { event: "Normal", help: "" },
    },
    owns: "targets",
    permissions: [
      { apiGroup: "", resource: "pods/eviction", verbs: ["create"], why: "to replace pods" },
      { apiGroup: "apps", resource: "deployments", verbs: ["patch"], why: "to roll them" },
    ],
    causes: Object.values(Cause),
    observe: () => Promise.resolve("facts"),
    decide: (facts, _spec, now) => (typeof decide === "function" ? decide(facts, now) : decide),
    ...changes,
  });
}

/** What a restart says of itself. */
export function makeClaim(pod = "app-1", changes: Partial<RestartClaim> = {}): RestartClaim {
  return {
    workload: "Deployment/app",
    pod,
    podUID: `uid-of-${pod}`,
    cause: Cause.Unknown,
    limits: { cooldownMs: 600_000, maxRestarts: 3, maxRestartsWindowMs: 3_600_000 },
    ...changes,
  };
}

/** The eviction of a pod. */
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
