import type { CauseName } from "../programs/causes";
import type { Obj } from "../server/objects";
import { actingOn, blockOf, objectsOf } from "./objects";
import type { Report, Sight, Truth } from "./sight";

// Promises 9, 10 and 12: what can heal heals in time, what cannot is Stalled and says why, and no condition lies.

const MINUTE = 60_000;

/** How long after the last fault each cause may take to heal, and where that comes from. Unproven restarts wait for each other. */
const HEALS_WITHIN: Partial<Readonly<Record<CauseName, { readonly firstMs: number; readonly eachMs: number }>>> = {
  // One minute after the account is created (docs/remedies/token-restart.md), the pace, and a pod's start; cooldown between incidents.
  "service-account-recreated": { firstMs: 15 * MINUTE, eachMs: 2 * MINUTE },
  // Two minutes after the change of keys, then the same.
  "key-rotated": { firstMs: 15 * MINUTE, eachMs: 2 * MINUTE },
  // Logs alone: three occasions over minDuration, then one unproven restart at a time until it is proven, and the cooldown of 10 minutes.
  "token-expired": { firstMs: 25 * MINUTE, eachMs: 12 * MINUTE },
  // stallDetection: five minutes and four Lease durations, then as above.
  hangs: { firstMs: 30 * MINUTE, eachMs: 12 * MINUTE },
};

/** What cannot be healed is Stalled after so long: an hour and a little. */
const STALLED_WITHIN_MS = 70 * MINUTE;

/** A condition may be wrong for so long. */
const LAGS_MS = 20 * MINUTE;

/** Looks at the end of the world, when nothing has happened for a while. */
export function checkHealing(sight: Sight, report: Report): void {
  const calmMs = sight.calmSinceMs();
  const nowMs = sight.clock.monotonicMs();
  const dead = sight.truths().filter(truth => truth.healedByRestart && isCovered(sight, truth));
  for (const truth of dead) {
    const bound = HEALS_WITHIN[truth.cause];
    if (bound === undefined) continue;
    const lastedMs = Math.min(calmMs, nowMs - truth.sinceMs);
    const boundMs = isHeldByBudget(sight, truth) ? STALLED_WITHIN_MS : bound.firstMs + dead.length * bound.eachMs;
    if (lastedMs <= boundMs || isStalled(sight, truth)) continue;
    const minutes = Math.round(lastedMs / MINUTE);
    report(
      9,
      `${truth.namespace}/${truth.name} is dead for ${minutes} minutes (${truth.cause}), and nothing is Stalled`,
    );
  }
  checkStalled(sight, report);
  checkConditions(sight, report);
}

/** Whether PodDisruptionBudgets refuse the eviction of a pod: it is not healed, and Stalled after an hour. */
function isHeldByBudget({ store }: Sight, { namespace, name }: Truth): boolean {
  const app = store.get("pods", namespace, name)?.metadata.labels?.["app"];
  const budgets = store.list("poddisruptionbudgets", namespace).filter(({ spec }) => {
    const { selector } = spec as { selector?: { matchLabels?: Record<string, string> } };
    return selector?.matchLabels?.["app"] === app;
  });
  const allows = ({ status }: Obj): boolean =>
    ((status ?? {}) as { disruptionsAllowed?: number }).disruptionsAllowed !== 0;
  return budgets.length > 1 || !budgets.every(allows);
}

/** Whether an object acts on this pod with evidence that can see it. */
function isCovered(sight: Sight, truth: Truth): boolean {
  const pod = sight.store.get("pods", truth.namespace, truth.name);
  if (pod === undefined || pod.metadata.annotations?.["controller-resilience.io/skip"] === "true") return false;
  const workload = sight.plan.workloads.find(
    ({ namespace, name }) => truth.workload.endsWith(`/${name}`) && namespace === truth.namespace,
  );
  if (workload === undefined || workload.isSkipped === true || workload.updateStrategy !== undefined) return false;
  return readBy(actingOn(sight.store, pod), truth).some(object => {
    const evidence = (blockOf(object, "tokenRestart")["evidence"] ?? []) as string[];
    switch (truth.cause) {
      case "service-account-recreated":
        return evidence.includes("ServiceAccountAge") && truth.logged401Ms !== undefined;
      case "key-rotated":
      case "token-expired":
        return evidence.includes("Logs") && truth.logged401Ms !== undefined;
      case "hangs":
        return workload.leaseSeconds !== undefined && blockOf(object, "stallDetection")["onStall"] === "Restart";
      default:
        return false;
    }
  });
}

/** The objects that do not leave this container out. */
function readBy(objects: readonly Obj[], { container }: Truth): readonly Obj[] {
  return objects.filter(object => {
    const containers = (blockOf(object, "tokenRestart")["containers"] ?? []) as string[];
    return containers.length === 0 || containers.includes(container);
  });
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

function conditionsOf(sight: Sight, truth: Truth): Condition[] {
  const pod = sight.store.get("pods", truth.namespace, truth.name);
  if (pod === undefined) return [];
  return objectsOf(sight.store, pod).flatMap(
    object => ((object["status"] ?? {}) as { conditions?: Condition[] }).conditions ?? [],
  );
}

function isStalled(sight: Sight, truth: Truth): boolean {
  return conditionsOf(sight, truth).some(({ type, status }) => type === "Stalled" && status === "True");
}

/** Promise 10. */
function checkStalled(sight: Sight, report: Report): void {
  const nowMs = sight.clock.monotonicMs();
  for (const truth of sight.truths()) {
    const isHopeless = truth.state === "token-dead" && !truth.healedByRestart && truth.logged401Ms !== undefined;
    if (!isHopeless || nowMs - truth.sinceMs < STALLED_WITHIN_MS) continue;
    const pod = sight.store.get("pods", truth.namespace, truth.name);
    if (pod === undefined || actingOn(sight.store, pod).length === 0 || isStalled(sight, truth)) continue;
    report(10, `${truth.namespace}/${truth.name} cannot be healed (${truth.cause}), and nothing is Stalled`);
  }
}

/** Promise 12, at rest: neither a false green nor a false red of TokensAccepted. */
function checkConditions(sight: Sight, report: Report): void {
  if (sight.calmSinceMs() < LAGS_MS) return;
  for (const object of sight.store.list("controllerresiliences")) {
    const conditions = ((object["status"] ?? {}) as { conditions?: Condition[] }).conditions ?? [];
    const tokens = conditions.find(({ type }) => type === "TokensAccepted");
    if (tokens === undefined || ["Suspended", "Conflict"].includes(tokens.reason)) continue;
    const lie = lieOf(tokens, sight, truthsOf(sight, object));
    if (lie !== undefined) report(12, `${object.metadata.namespace ?? ""}/${object.metadata.name} says ${lie}`);
  }
}

function truthsOf(sight: Sight, { metadata: { uid } }: Obj): Truth[] {
  return sight.truths().filter(({ namespace, name }) => {
    const pod = sight.store.get("pods", namespace, name);
    return pod !== undefined && objectsOf(sight.store, pod).some(({ metadata }) => metadata.uid === uid);
  });
}

/** What is wrong about a condition; undefined if nothing is. */
function lieOf({ status, reason, message }: Condition, sight: Sight, own: readonly Truth[]): string | undefined {
  const nowMs = sight.clock.monotonicMs();
  const wallMs = sight.clock.now().getTime();
  const isOld = ({ sinceMs }: Truth): boolean => nowMs - sinceMs > LAGS_MS;
  const isDead = (truth: Truth): boolean =>
    truth.state === "token-dead" && isOld(truth) && wallMs - (truth.logged401Ms ?? -Infinity) < 2 * MINUTE;
  const dead = own.find(isDead);
  if (status === "True" && dead !== undefined) return `${reason}, and ${dead.name} is answered 401 (${dead.cause})`;
  const isWhole = own.every(truth => truth.state === "works" && truth.cause === "none" && isOld(truth));
  if (status === "False" && reason === "Rejected" && isWhole) return `Rejected, and all its pods work: ${message}`;
  return undefined;
}
