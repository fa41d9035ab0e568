import type { Cause } from "../../api/conditions";
import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { Problem } from "../../core/errors";
import { describeOutcome, type Execution, type RestartClaim, type RestartLimits } from "../../core/intent";
import {
  capitalize,
  type Mode,
  type Outcomes,
  type Plan,
  type PlanItem,
  type Reasons,
  type Report,
  type StatusLists,
  whatWould,
} from "../../core/remedy";
import { parseDuration } from "../../core/time";
import type { PodView, WorkloadView } from "../../core/views";
import { workloadId } from "../../core/text";
import {
  BLOCKED_HINT,
  describeBlock,
  eventOf,
  evictionOf,
  newlySettled,
  type RestartReason,
} from "../../restarts/claims";
import { countPresent } from "../../restarts/history";
import {
  describeDown,
  type LimitedPod,
  type LimitedWorkload,
  limitOf,
  UNHEALTHY_HINT,
  withPatience,
} from "../../restarts/limits";
import { type Finding, observationIncomplete, summarizeWorkloads, targetNotFound, type WorkloadWords } from "./finding";

// From observations to restarts and conditions: what tokenRestart and stallDetection do in the same way. Pure.

/** What a remedy has observed that restarts pods. */
export interface ObservedTargets<Pod> {
  readonly mode: Mode;
  /** status.restarts, as last written. */
  readonly restarts: readonly RestartStatus[];
  /** Targets without a workload, as `Deployment/web`. */
  readonly missingTargets: readonly string[];
  readonly workloads: readonly TargetWorkload<Pod>[];
  /** Failed reads. The other observations are valid. */
  readonly problems: readonly Problem[];
}

/** One workload of the targets. */
export interface TargetWorkload<Pod> {
  readonly view: WorkloadView;
  /** Its pods, including terminating ones, except Succeeded and Failed ones. */
  readonly pods: readonly Pod[];
  /** Name of another object that acts on the workload. Absent: this one does, or no restart is due. */
  readonly holder?: string;
  /** A restart that is due and a rollout in progress were first seen together at this time. Absent: they are not. */
  readonly rolloutSinceMs?: number | undefined;
}

/** How restarts are limited: fields of tokenRestart. */
export interface Limits extends RestartLimits {
  readonly maxUnavailable: number;
}

const DEFAULTS = { cooldown: "10m", maxRestarts: 3, maxUnavailable: 1 };

/** The limits of an object: defaults without the block, and of a field that an older definition in the cluster drops. */
export function limitsOf(spec?: Partial<Pick<TokenRestartSpec, keyof typeof DEFAULTS>>): Limits {
  const { cooldown, maxRestarts, maxUnavailable } = { ...DEFAULTS, ...spec };
  return { cooldownMs: parseDuration(cooldown), maxRestarts, maxUnavailable };
}

/** What the checks find out about a pod or a workload. */
export interface RestartFinding<Reason extends string> extends Finding<Reason> {
  readonly retryAfterMs?: number | undefined;
  /** It waits for something that may never happen: what a person can do about it. */
  readonly wayOut?: string | undefined;
  /** Set when `intents` restart a pod: what follows, unless the report has an outcome instead. */
  readonly next?: string;
}

/** A restart that can help waits. */
export function deferred<Reason extends string = "RestartDeferred">(
  sentence: string,
  more: Partial<Pick<RestartFinding<Reason>, "reason" | "retryAfterMs" | "wayOut">> = {},
): RestartFinding<Reason | "RestartDeferred"> {
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, ...more };
}

/** A person must act: no restart helps, or none may. */
export function held<Reason extends string>(reason: Reason, sentence: string): RestartFinding<Reason> {
  return { status: "False", reason, sentence, isStalled: true };
}

/** A pod that a restart can help. */
export interface DueRestart {
  readonly pod: { readonly view: PodView };
  readonly claim: RestartClaim;
}

/** Says which limit of its workload holds a restart back. `say` makes a sentence of its description. */
export function atLimit(
  { pod, claim }: DueRestart,
  workload: LimitedWorkload,
  say: (wait: string) => string,
): RestartFinding<"RestartDeferred" | "RestartBlocked" | "RestartsExhausted"> | undefined {
  const limit = limitOf(pod.view, claim, workload);
  if (limit === undefined) return undefined;
  const { wait, reason = "RestartDeferred", ...more } = limit;
  const sentence = say(wait);
  return reason === "RestartsExhausted" ? held(reason, sentence) : deferred(sentence, { reason, ...more });
}

/** The restart of a pod that nothing holds back. `why` is for its Event. */
export function evict<Reason extends string>(
  { pod, claim }: DueRestart,
  { reason, sentence, why }: Pick<Finding<Reason>, "reason" | "sentence"> & { readonly why: string },
): RestartFinding<Reason> {
  const next = "The operator is about to evict the pod.";
  const intents = [evictionOf(pod.view, why, claim)];
  return { status: "False", reason, sentence, intents, next, isProgressing: true, wayOut: BLOCKED_HINT };
}

/** While the operator only observes, no restart follows, also not once a limit allows it. */
export function asObserved<Reason extends string>(
  finding: RestartFinding<Reason>,
  mode: Mode,
  pod: string,
): RestartFinding<Reason | "WouldRestart"> {
  const { status, reason, sentence, intents, retryAfterMs } = finding;
  const isWaiting = reason === "RestartDeferred" || reason === "RestartBlocked";
  if (mode === "Enforce" || (intents === undefined && !isWaiting)) return finding;
  const would = capitalize(whatWould(mode));
  if (intents !== undefined)
    return { status, reason: "WouldRestart", sentence, intents, next: `${would} evict the pod.` };
  return { status, reason: "WouldRestart", sentence: `${sentence} ${would} evict pod ${pod} then.`, retryAfterMs };
}

/** A restart whose outcome is open: nothing shows yet that it helped. Its successor may never be created. */
export function watched(
  { view, pods }: TargetWorkload<LimitedPod>,
  { history, now, causes }: Pick<LimitedWorkload, "history" | "now"> & { readonly causes: readonly Cause[] },
): RestartFinding<"Restarting"> | undefined {
  const down = describeDown({ pods, history, now }, causes);
  if (down === undefined) return undefined;
  const sentence = `${workloadId(view)}: ${down}.`;
  const finding = { status: "False", reason: "Restarting", sentence, isProgressing: true } as const;
  return withPatience(finding, UNHEALTHY_HINT, { waitStartTime: history.at(-1)?.time ?? "" }, now);
}

/** The plan for the workloads of the targets. */
export interface RestartPlan<Reason extends string> extends Plan<RestartItem<Reason>> {
  readonly restarts: readonly RestartStatus[];
  /** Restarts that this plan has found to be Recovered or Ineffective. */
  readonly settled: readonly RestartStatus[];
  /** Findings about anything but the workloads. */
  readonly findings: readonly Finding<Reason>[];
  readonly lists: StatusLists;
  /** Absent: with the next full pass. A log with news requests a pass by itself. */
  readonly recheckAfterMs?: number;
}

/** One workload. At most one of its findings restarts a pod. */
export interface RestartItem<Reason extends string> extends PlanItem {
  readonly pods: number;
  readonly findings: readonly RestartFinding<Reason>[];
}

/** Minimum time between two passes. */
export const MIN_RECHECK_MS = 1_000;

/** Makes the item of a workload. */
export function itemOf<Reason extends string>(
  { view, pods }: TargetWorkload<{ readonly view: PodView }>,
  findings: readonly RestartFinding<Reason>[],
): RestartItem<Reason> {
  return { id: view.uid, pods: countPresent(pods), findings, intents: findings.flatMap(one => one.intents ?? []) };
}

/** Makes the plan. `soonestMs` is the time until a pass is needed; Infinity: none is. */
export function restartPlan<Reason extends string>(
  {
    restarts: before,
    missingTargets,
    problems,
  }: Pick<ObservedTargets<never>, "restarts" | "missingTargets" | "problems">,
  {
    soonestMs,
    others = [],
    ...plan
  }: Pick<RestartPlan<Reason>, "items" | "restarts" | "lists"> & {
    readonly soonestMs: number;
    readonly others?: readonly Finding<Reason>[];
  },
): RestartPlan<Reason | "TargetNotFound" | "Forbidden" | "ObserveFailed"> {
  return {
    ...plan,
    settled: newlySettled(before, plan.restarts),
    findings: [...others, ...missingTargets.map(targetNotFound), ...problems.map(observationIncomplete)],
    ...(soonestMs < Infinity && { recheckAfterMs: Math.max(MIN_RECHECK_MS, soonestMs) }),
  };
}

/** Returns the report of a remedy on its plans and their outcomes. */
export function reporter<Reason extends string>(
  reasons: Reasons<Reason | RestartReason>,
  words: WorkloadWords<Reason | RestartReason>,
) {
  type All = Reason | RestartReason;
  return (plan: RestartPlan<All>, outcomes: Outcomes, now: Date): Report<All> => ({
    ...summarizeWorkloads<All>(
      reasons,
      plan.items.map(({ id, pods, findings }) => ({
        pods,
        findings: findings.map(finding => withAnswer(finding, outcomes.get(id)?.[0], now)),
      })),
      plan.findings,
      words,
    ),
    ...(plan.recheckAfterMs !== undefined && { recheckAfterMs: plan.recheckAfterMs }),
    ...{ lists: plan.lists, events: plan.settled.map(eventOf) },
  });
}

/** Completes a finding that plans a restart with its outcome, or else with what comes next. */
function withAnswer<Reason extends string>(
  { next, ...finding }: RestartFinding<Reason>,
  execution: Execution | undefined,
  now: Date,
): Finding<Reason | RestartReason> {
  if (next === undefined) return finding;
  const [reason, answer = next] = (execution && answerOf(execution, now)) ?? [];
  const sentence = [finding.sentence, answer].filter(text => text !== "").join(" ");
  if (reason === undefined) return { ...finding, sentence };
  const isStuck = reason === "Forbidden" || reason === "BreakerTripped";
  const isStalled = isStuck || (reason !== "Restarting" && finding.isStalled === true);
  return { ...finding, status: "False", reason, sentence, isStalled, isProgressing: !isStuck };
}

/** What a restart came to. Undefined for one that was not tried: the plan says why. */
function answerOf(
  { intent: { verb, target }, outcome }: Execution,
  now: Date,
): readonly [RestartReason, string] | undefined {
  switch (outcome.result) {
    case "Executed":
      return ["Restarting", "Evicted; watching its successor."];
    case "Blocked": {
      const block = describeBlock(outcome.message, target.name, now.getTime() + outcome.retryAfterMs);
      return ["RestartBlocked", `Restart blocked: ${block}.`];
    }
    case "Limited": {
      const reason = outcome.limit === "Breaker" ? "BreakerTripped" : "RestartDeferred";
      return [reason, outcome.detail ?? `Restart ${describeOutcome({ outcome })}.`];
    }
    case "Forbidden":
      return ["Forbidden", `The operator may not ${verb} ${target.kind} ${target.name}: ${outcome.message}.`];
    case "Conflict":
    case "Failed":
      return ["RestartDeferred", `Restart failed, retrying: ${outcome.message}.`];
    default:
      return undefined;
  }
}
