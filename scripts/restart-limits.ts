import { format } from "prettier";
import { CHECKS as TOKEN_CHECKS } from "../src/remedies/token-restart/checks";
import { CHECKS as STALL_CHECKS } from "../src/remedies/stall-detection/restart";
import { WITHOUT_PROOF } from "../src/restarts/ledger";
import { LIMITS } from "../src/restarts/limits";

/** Generates docs/why-not-restarted.md: what holds a restart back, in the order of the code's lists. */

const PATH = "docs/why-not-restarted.md";

/** The reasons in conditions; why it waits, how long if that is known, and what a person can do. */
type Row = readonly [reasons: string, sentence: string];

const DEFERRED = "RestartDeferred";

/** By the names of the checks. */
const ROWS: Readonly<Record<string, Row>> = {
  heldByOther: ["Conflict", "Another object acts on the workload: remove it from the targets of one of them."],
  serviceAccountMissing: ["ServiceAccountMissing", "Its ServiceAccount does not exist: create it."],
  barred: [
    "Rejected, LeaseNotRenewed, QueueStuck, WatchesDead",
    "The pod, or its workload, has `controller-resilience.io/skip`; the pod is the operator's own; or with update strategy `OnDelete` an eviction would upgrade it: delete it once it may be upgraded.",
  ],
  serviceAccountUnreadable: ["Forbidden", "Its ServiceAccount cannot be read: grant the right."],
  noTokenToRenew: ["Rejected", "It mounts no token for the API server: check its other credentials."],
  exhausted: [
    "RestartsExhausted",
    "`maxRestarts` in a row, or two without proof, did not help: mend the cause, then restart it by hand. More follow after a day.",
  ],
  endsTooLate: [DEFERRED, "Without proof: `terminationGracePeriodSeconds` is above 1200: lower it."],
  rolloutInProgress: [DEFERRED, "The workload is rolled out, for `progressDeadlineSeconds`, 15 minutes at most."],
  unanswered: [DEFERRED, "Its eviction got no clear answer."],
  tooManyDown: [
    DEFERRED,
    "`maxUnavailable` pods are missing or not Ready, or no other is Ready. Not counted are pods all proven dead and, except in a StatefulSet, those of a node that does not answer, or not Ready for an hour while others are; successors of restarts count for a day, without proof until Ready. A pod that is not Ready waits for these only, in a StatefulSet not for missing ones of higher numbers.",
  ],
  overBudget: [DEFERRED, "`cooldown` or `maxRestarts`, until the time in the message."],
  refused: [
    "RestartBlocked",
    "The API server refuses the eviction until the next try: add a replica, delete the pod, or check PodDisruptionBudget and webhooks.",
  ],
  keysChangedLately: [DEFERRED, "The signing keys changed within two minutes."],
  serverLacksKey: [DEFERRED, "Without proof: an API server lacks a key of another."],
  notWitnessed: [
    "Rejected",
    "Without proof: no API server has answered 401. Check which other server the pod asks. While it counts, for up to three minutes, it says `RestartDeferred`.",
  ],
  evidenceStale: [DEFERRED, "Its last 401 is older than usual, so it waits for another: compare its node's clock."],
  logUnread: [DEFERRED, "Its log was not read for ten minutes, which may show one of the next: see why."],
  leasesDenied: ["LeaseNotRenewed", "Requests for Leases get 403: restore its permissions."],
  workRefused: [
    "QueueStuck, WatchesDead",
    "The requests of a pod that does nothing get 401, 403 or 422 responses: see what refuses them.",
  ],
  throttled: [DEFERRED, "Three 429s in 15 minutes: find who floods the API server."],
  notSeenLongEnough: [
    DEFERRED,
    "The operator has not watched the Lease for long enough while the containers run: see why they restart.",
  ],
  leaderWarmup: [DEFERRED, "A new leader reads the restarts of all objects."],
  ownTrouble: [DEFERRED, "The operator itself got a 401 or lost the API server in the last two minutes."],
  breakerTripped: [
    "BreakerTripped",
    "Two within an hour failed: find the cause, then reset the [breaker](reliability.md#the-restart-breaker).",
  ],
  anotherOpen: [DEFERRED, "The outcome of another one is not known yet, for half an hour at most."],
  twoInDoubt: [
    DEFERRED,
    "Two in the last hour failed, or may still fail, as their pods had worked for less than half an hour.",
  ],
};

/** The page. */
export function restartLimits(): { path: string; from: string; text: () => Promise<string> } {
  return {
    path: PATH,
    from: "src/restarts/limits.ts",
    text: () => format(page(), { parser: "markdown", proseWrap: "always", printWidth: 100 }),
  };
}

function page(): string {
  const limits = LIMITS.map(({ name }) => name);
  // What stands after the decision says what is wrong, not why nothing is done.
  const names = TOKEN_CHECKS.map(({ name }) => name);
  const token = names
    .slice(0, names.indexOf("restartNeeded"))
    .flatMap(one => (one === "limitReached" ? limits : [one]));
  const own = STALL_CHECKS.map(({ name }) => name).filter(one => !token.includes(one) && one !== "limitReached");
  return `<!-- generated by \`npm run generate\` from src/restarts/limits.ts -->

# Why was it not restarted?

The condition names the first that applies to the pod whose turn it is. In Observe mode nothing is restarted. A wait without a known end is Stalled after an hour, and its message says what to do.

${list([...token])}

For a stale Lease, or a pod that does nothing, these are checked as well, before \`RestartsExhausted\`:

${list(own)}

Then follow, over all objects, those of restarts without [proof](reliability.md#the-restart-breaker):

${list(Object.keys(WITHOUT_PROOF))}

Finally, over all objects: one restart per 10 s, per 2 s if the token is proven dead; none while the operator's clock is off.
`;
}

function list(names: readonly string[]): string {
  const items = names.map(name => {
    const row = ROWS[name];
    if (row === undefined) throw new Error(`expected a row for the check ${name} in scripts/restart-limits.ts`);
    const [reasons, sentence] = row;
    return `1. ${reasons.replaceAll(/\w+/g, "`$&`")}: ${sentence}`;
  });
  return items.join("\n");
}
