import { persistenceOf, type UnauthorizedTrace } from "../../logs/persistence";
import { deniedOf, LEASE_LOST, REFUSED, THROTTLED } from "../../logs/topics";
import { denialRule, type ContainerLog } from "./denials";

// How often a program has lost its Lease. Pure.

/** Losses within {@link LOSSES_WINDOW_MS} that show that it does not come to work. */
export const LOSSES = 3;
export const LOSSES_WINDOW_MS = 3_600_000;

/** Records about one loss: a client tries for some seconds, says so, exits, and starts again. */
const ONE_LOSS_MS = 60_000;

/** Records that explain a loss are this close to it. */
const NEAR_MS = 60_000;

/** Why a program loses its Lease, as far as its log shows. */
export type LossCause = "Throttled" | "Denied" | "Unauthorized" | "Unknown";

/** Losses of one container in the last hour, if they are too many. */
export interface Losses {
  readonly cause: LossCause;
}

/** Returns the losses of a container if there were {@link LOSSES} or more. */
export function lossesOf(log: ContainerLog, nowMs: number): Losses | undefined {
  const starts = lossStarts(log.topics.get(LEASE_LOST)).filter(ms => nowMs - ms < LOSSES_WINDOW_MS && ms <= nowMs);
  return starts.length >= LOSSES ? { cause: causeOf(log, starts, nowMs) } : undefined;
}

function lossStarts(trace: UnauthorizedTrace | undefined): number[] {
  const starts: number[] = [];
  let lastMs = -Infinity;
  for (const { startMs, endMs } of trace?.occasions ?? []) {
    if (startMs - lastMs > ONE_LOSS_MS) starts.push(startMs);
    lastMs = Math.max(lastMs, endMs);
  }
  return starts;
}

function causeOf(log: ContainerLog, starts: readonly number[], nowMs: number): LossCause {
  const denied = Array.from(log.topics).filter(([topic]) => deniedOf(topic)?.resource === "leases");
  if (denied.some(([, trace]) => isNear(trace, starts))) return "Denied";
  if (log.has401) return "Unauthorized";
  return [THROTTLED, REFUSED].some(topic => isNear(log.topics.get(topic), starts)) ? "Throttled" : "Unknown";

  function isNear(trace: UnauthorizedTrace | undefined, losses: readonly number[]): boolean {
    const occasions = trace?.occasions.filter(({ startMs }) => startMs <= nowMs) ?? [];
    return occasions.some(({ startMs, endMs }) => losses.some(ms => startMs - NEAR_MS <= ms && ms <= endMs + NEAR_MS));
  }
}

/** Reports whether the log shows that requests of the pod fail just now, so that it can't renew a Lease. */
export function showsFailure(log: ContainerLog, nowMs: number): boolean {
  return log.has401 || isDeniedLeases(log, nowMs) || isRecent(log.topics.get(LEASE_LOST), nowMs);
}

/** Reports whether the API server answers requests for Leases 403 just now. A restart can't help then. */
export function isDeniedLeases({ topics }: ContainerLog, nowMs: number): boolean {
  return Array.from(topics).some(([topic, trace]) => deniedOf(topic)?.resource === "leases" && isRecent(trace, nowMs));
}

/**
 * Reports whether the API server refuses requests of the pod with 429 just now, several times lately: one is part of a normal day, and a
 * holder without seats gets one for nearly every renewal, which client-go tries every 2 s. Delays by the client's own limit do not count.
 */
export function isThrottled({ topics }: ContainerLog, nowMs: number): boolean {
  const trace = topics.get(REFUSED);
  return trace !== undefined && persistenceOf(trace, denialRule(0), nowMs).state === "persistent";
}

function isRecent(trace: UnauthorizedTrace | undefined, nowMs: number): boolean {
  const rule = { ...denialRule(0), occasions: 1 };
  return trace !== undefined && persistenceOf(trace, rule, nowMs).state !== "quiet";
}
