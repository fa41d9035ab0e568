import { toSeconds } from "../../core/time";
import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { formatDuration } from "../../core/duration";
import { joinSentences } from "../kit/summarize";
import type { TokenCause } from "./cause";
import { isBySandbox, workloadId, type Block, type PodFacts, type UndecidedNode, type WorkloadFacts } from "./facts";
import type { Persistence } from "../../logs/persistence";

// Sentences for somebody who reads them at three in the morning. Never log text.

/** Steps of what is told, so that a message, and with it status, does not change with every line of a log. */
const OCCASION_STEPS = [3, 5, 10, 20, 50, 100];
const MINUTE_MS = 60_000;
const SPAN_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 360, 720].map(minutes => minutes * MINUTE_MS);

/** The evidence against one pod: `Pod web-1 was answered 401 on 5 or more occasions over more than 2m`. */
export function describeEvidence(facts: PodFacts): string {
  const { pod, verdict, proof, sandbox } = facts;
  if (isBySandbox(facts) && sandbox !== undefined)
    return `Pod ${pod.name} is the CNI agent of node ${pod.nodeName ?? "unknown"}, where new pods can't start since its credential there was answered 401 ${describeExtent(sandbox)}`;
  const answered = `was answered 401 ${describeExtent(verdict)}`;
  if (proof === undefined) return `Pod ${pod.name} ${answered}`;
  const older = `Pod ${pod.name} is older than its ServiceAccount ${pod.serviceAccountName}, so its token is dead`;
  return verdict.occasions === 0 ? older : `${older}, and ${answered}`;
}

function describeExtent({ occasions, firstMs = 0, lastMs = 0 }: Persistence): string {
  const span = floorTo(SPAN_STEPS, lastMs - firstMs);
  return `${describeOccasions(occasions)}${span === undefined ? "" : ` over ${formatDuration(span)} or more`}`;
}

function describeOccasions(occasions: number): string {
  const known = floorTo(OCCASION_STEPS, occasions);
  return known === undefined ? "a few times" : `on ${known} or more occasions`;
}

function floorTo(steps: readonly number[], amount: number): number | undefined {
  return steps.findLast(step => step <= amount);
}

/** What a Date can hold. */
const MAX_DATE_MS = 8.64e15;

/** RFC 3339 in whole seconds, as the API server prints times; undefined if it is none. */
export function describeTime(ms: number): string | undefined {
  if (!(Math.abs(ms) <= MAX_DATE_MS)) return undefined;
  return toSeconds(new Date(ms));
}

/** Whether a refusal speaks of a PodDisruptionBudget: a 429 may as well be the API server's own overload. */
export function isByBudget(message: string): boolean {
  return /disruption ?budget/i.test(message);
}

/** That the API server said no, why if that is known, and when it is asked again. Never the refusal's own text. */
export function describeBlock({ pod, untilMs, byBudget }: Block): string {
  const no = byBudget
    ? `Its PodDisruptionBudget does not allow to evict pod ${pod} now`
    : `The API server does not take the restart of pod ${pod} now`;
  return `${no}; the next try is at ${describeTime(untilMs) ?? "an unknown time"}.`;
}

/** Of a restart that is under way. */
export const IS_BEING = ": it is being ";

/** Of one that is wanted but was not carried out. */
export const IS_TO_BE = ": it is to be ";

/** A cause in the middle of a sentence. */
export function describeCause(cause: TokenCause): string {
  switch (cause) {
    case Cause.ServiceAccountRecreated:
      return "the ServiceAccount was recreated";
    case Cause.ServiceAccountMissing:
      return "the ServiceAccount is missing";
    case Cause.SigningKeyRotated:
      return "other workloads began to be rejected at the same time, so the signing key may have been changed";
    case Cause.CniCredentialRejected:
      return "the CNI credential on its node is rejected, and the agent's next pod writes a new one";
    case Cause.Unknown:
      return "cause unknown";
  }
}

/** That somebody's credential is dead, that nobody is restarted for it, and what helps. */
export function describeUndecided({ node, workloads }: UndecidedNode): string {
  return `New pods can't start on node ${node} since a CNI agent's credential is answered 401, and nothing is restarted, since it may be that of ${workloads.join(" or of ")}: give each CNI agent a ControllerResilience of its own.`;
}

/** That a restart has helped. */
export function describeRecovery({ pod, workload, cause }: RestartStatus): string {
  const since =
    cause === Cause.CniCredentialRejected ? "no new pod was refused on its node since" : "its tokens are accepted";
  return `The successor of pod ${pod} of ${workload} is Ready and ${since}.`;
}

/** `1 pod` or `3 pods`. */
export function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}

/** `2 of 3 pods of Deployment/web are rejected` */
export function describeShare(facts: WorkloadFacts, rejected: number): string {
  const verb = rejected === 1 ? "is" : "are";
  return `${rejected} of ${count(facts.pods.length, "pod")} of ${workloadId(facts.workload)} ${verb} rejected`;
}

/** The message of several workloads, the worst of which come first. */
export function messageOfWorkloads(told: readonly { readonly sentence: string }[]): string {
  return joinSentences(
    told.map(({ sentence }) => sentence),
    rest => `So it is with ${rest} more.`,
  );
}
