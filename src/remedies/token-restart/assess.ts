import { RESTARTED_AT_ANNOTATION } from "../../api/names";
import type { Intent, RestartClaim } from "../../core/intent";
import type { Assessment, Check } from "./assessment";
import { candidatesOf, nextCandidate, nextClaim, type WorkloadCase } from "./candidates";
import { isSuspected, workloadId, type PodFacts } from "./facts";
import { cooldown, downNow, exhausted, notReached, tooManyDown } from "./limits";
import { count, describeBlock, describeCause, describeEvidence, describeShare, IS_BEING } from "./wording";

/** The first that has something to say decides. */
const CHECKS: readonly Check[] = [
  // A restart can't bring back a ServiceAccount.
  serviceAccountMissing,
  // Somebody asked for it to be left alone.
  leftAlone,
  // Without a right, nobody knows whether a restart can succeed.
  serviceAccountUnknown,
  // The 401s are of something that a restart does not renew.
  noToken,
  // The last rollout did not reach a condemned pod, and the next would not either.
  notReached,
  // It was tried often enough; only a person, a new generation or accepted tokens go on.
  exhausted,
  // As many pods as allowed are down by our hand.
  tooManyDown,
  // The last restart was not long ago, or did not help.
  cooldown,
  // A PodDisruptionBudget said no a moment ago.
  blocked,
  // A pod is condemned and nothing speaks against replacing it.
  restart,
  // A pod was replaced; is its successor well?
  watching,
  // Nobody is there to be rejected.
  noPods,
  // 401s, but not yet persistently.
  suspected,
  // Not a word was read yet, so nothing is known.
  unread,
];

/** What the checks say of a workload; if none of them does, its tokens are accepted. */
export function assess(given: WorkloadCase): Assessment {
  for (const check of CHECKS) {
    const assessment = check(given);
    if (assessment !== undefined) return assessment;
  }
  const { own } = given;
  const sentence = `No pod of ${workloadId(own.workload)} (${count(own.pods.length, "pod")}) is persistently answered 401.`;
  return { status: "True", reason: "Accepted", sentence };
}

function serviceAccountMissing({ own }: WorkloadCase): Assessment | undefined {
  const orphan = own.pods.find(facts => isOrphan(facts));
  if (orphan === undefined || own.workload.skip) return undefined;
  const { name, serviceAccountName } = orphan.pod;
  const sentence = `ServiceAccount ${serviceAccountName} of pod ${name} does not exist, so its token is dead and a restart can't help: create the ServiceAccount.`;
  return { status: "False", reason: "ServiceAccountMissing", sentence, isStalled: true };
}

/** Where no token is mounted, none is dead: that no new pod can be created is told by the workload's own controller. */
function isOrphan({ pod, serviceAccount }: PodFacts): boolean {
  return serviceAccount === "missing" && pod.deletedAtMs === undefined && !pod.skip && pod.mountsToken !== false;
}

function leftAlone({ own, rejected }: WorkloadCase): Assessment | undefined {
  const isAlone = own.workload.skip || rejected.every(({ pod }) => pod.skip);
  if (rejected.length === 0 || !isAlone) return undefined;
  const sentence = `${describeShare(own, rejected.length)} and left alone because of the skip annotation.`;
  return { status: "False", reason: "Rejected", sentence };
}

function serviceAccountUnknown(given: WorkloadCase): Assessment | undefined {
  const unknown = given.rejected.find(({ pod, serviceAccount }) => !pod.skip && serviceAccount === "unknown");
  if (unknown === undefined || candidatesOf(given).length > 0) return undefined;
  const { name, serviceAccountName } = unknown.pod;
  const sentence = `${describeShare(given.own, given.rejected.length)}, and nothing is done, since ServiceAccount ${serviceAccountName} of pod ${name} can't be read.`;
  return { status: "Unknown", reason: "Forbidden", sentence };
}

function noToken(given: WorkloadCase): Assessment | undefined {
  const { own, rejected } = given;
  const [first] = rejected.filter(facts => !facts.pod.skip);
  if (first === undefined || candidatesOf(given).length > 0) return undefined;
  const sentence = `${describeShare(own, rejected.length)}, but pod ${first.pod.name} mounts no ServiceAccount token for the API server that a restart would renew: look at its other credentials.`;
  return { status: "False", reason: "Rejected", sentence, isStalled: true };
}

function blocked(given: WorkloadCase): Assessment | undefined {
  const uid = nextCandidate(given)?.pod.uid;
  const block = given.facts.blocks.find(({ podUID, untilMs }) => podUID === uid && untilMs > given.now.getTime());
  if (block === undefined) return undefined;
  const sentence = `${describeShare(given.own, given.rejected.length)}. ${describeBlock(block)}`;
  const retryAfterMs = block.untilMs - given.now.getTime();
  return { status: "False", reason: "RestartBlocked", sentence, isProgressing: true, retryAfterMs };
}

function restart(given: WorkloadCase): Assessment | undefined {
  const candidate = nextCandidate(given);
  const claim = nextClaim(given);
  if (candidate === undefined || claim === undefined) return undefined;
  const observing = given.facts.mode === "Observe";
  const why = `${describeEvidence(candidate)} (${describeCause(claim.cause)})`;
  const deed = given.spec.strategy === "Evict" ? "evicted" : "replaced by rolling its workload";
  const others = given.rejected.length - 1;
  const more = others > 0 ? ` ${count(others, "more pod")} of ${claim.workload} will follow.` : "";
  const sentence = `${why}${observing ? ": it would be " : IS_BEING}${deed}.${more}`;
  const intent = given.spec.strategy === "Evict" ? eviction(candidate, claim, why) : rollout(given, claim, why);
  const reason = observing ? "WouldRestart" : "Rejected";
  return { status: "False", reason, sentence, intent, isProgressing: !observing };
}

function watching({ own, history }: WorkloadCase): Assessment | undefined {
  const down = downNow(own, history);
  if (down.length === 0) return undefined;
  const names = down.slice(0, 3).join(", ");
  const sentence = `Pod ${names} of ${workloadId(own.workload)} was restarted; its successor is being watched.`;
  return { status: "False", reason: "Restarting", sentence, isProgressing: true };
}

function noPods({ own }: WorkloadCase): Assessment | undefined {
  if (own.pods.some(({ pod }) => pod.deletedAtMs === undefined)) return undefined;
  const { replicas } = own.workload;
  const sentence = `${workloadId(own.workload)} has no pods and wants ${replicas}.`;
  return { status: "True", reason: "NoPods", sentence };
}

function suspected({ own }: WorkloadCase): Assessment | undefined {
  const suspect = own.pods.find(facts => facts.pod.deletedAtMs === undefined && isSuspected(facts));
  if (suspect === undefined) return undefined;
  return { status: "True", reason: "Suspected", sentence: `${describeEvidence(suspect)}; not persistently yet.` };
}

/** Quiet because nobody has looked: a log that can't be read for longer is among the problems. */
function unread({ own }: WorkloadCase): Assessment | undefined {
  const { length } = own.pods.filter(facts => isUnread(facts));
  if (length === 0) return undefined;
  const sentence = `The logs of ${count(length, "pod")} of ${workloadId(own.workload)} have not been read yet.`;
  return { status: "Unknown", reason: "ObserveFailed", sentence, isProgressing: true };
}

function isUnread({ pod, readMs, unreadable }: PodFacts): boolean {
  return pod.deletedAtMs === undefined && readMs === undefined && !unreadable;
}

function eviction({ pod }: PodFacts, restartClaim: RestartClaim, why: string): Intent {
  const { namespace, name, uid } = pod;
  const target = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
  return { verb: "evict", target, why, eventReason: "PodEvicted", restart: restartClaim };
}

function rollout({ own, now }: WorkloadCase, restartClaim: RestartClaim, why: string): Intent {
  const { kind, namespace, name, uid, resourceVersion } = own.workload;
  const annotations = { [RESTARTED_AT_ANNOTATION]: now.toISOString() };
  return {
    verb: "patch",
    target: { apiVersion: "apps/v1", kind, namespace, name, uid, resourceVersion },
    body: { spec: { template: { metadata: { annotations } } } },
    why,
    eventReason: "WorkloadRolled",
    restart: restartClaim,
  };
}
