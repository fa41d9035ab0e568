import type { FlowStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { hashOfBlock } from "./block";
import { changesOf, countedGeneration, type Flow } from "./flow";

/** Its entry in status.flows before this pass writes anything. */
export function entryOf(flow: Flow): FlowStatus {
  const { account, facts, own, level, rate, release } = flow;
  const generation = countedGeneration(account, facts);
  // The level that the operator wrote, even where another manager has changed it since.
  const priorityLevel = own.state.is === "right" ? level : account.record?.priorityLevel;
  return {
    serviceAccount: account.name,
    flowSchema: own.wanted.name,
    ...(priorityLevel === undefined ? {} : { priorityLevel }),
    ...(rate === undefined ? {} : { requestsPerSecond: rate }),
    ...stateOf(flow),
    ...(release === undefined ? {} : { releaseAttempts: account.record?.releaseAttempts ?? 0 }),
    changes: changesOf(account, facts),
    ...(generation === undefined ? {} : { generation }),
  };
}

function stateOf({ breaker, spec }: Flow): Omit<FlowStatus, "serviceAccount"> {
  const { state, sinceMs, untilMs, releaseMs, relapses } = breaker;
  return {
    state,
    since: timeOf(sinceMs),
    ...(untilMs === undefined ? {} : { until: timeOf(untilMs) }),
    ...(releaseMs === undefined ? {} : { releaseSeconds: Math.round(releaseMs / 1_000) }),
    ...(relapses === undefined ? {} : { relapses }),
    ...(state === "GivenUp" ? { specHash: hashOfBlock(spec) } : {}),
  };
}

/** Latest time of a Date. */
const MAX_MS = 8.64e15;

/** RFC 3339 in whole seconds, for any number. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.min(MAX_MS, Math.max(0, ms))));
}
