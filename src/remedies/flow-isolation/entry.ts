import type { FlowStatus } from "../../api/controller-resilience";
import { toSeconds } from "../../core/time";
import { hashOfBlock } from "./block";
import { changesOf, countedGeneration, type Flow } from "./flow";
import { fieldsOf, scaledOf } from "./scaled";

/** Its entry in status.flows before this pass writes anything. */
export function entryOf(flow: Flow): FlowStatus {
  const { account, facts, breaker, own, level, rate } = flow;
  const { state, sinceMs, untilMs, releaseMs } = breaker;
  const generation = countedGeneration(account, facts);
  // The level that the operator wrote, even where another manager has changed it since.
  const priorityLevel = own.state.is === "right" ? level : account.record?.priorityLevel;
  return {
    serviceAccount: account.name,
    flowSchema: own.wanted.name,
    ...(priorityLevel === undefined ? {} : { priorityLevel }),
    ...(rate === undefined ? {} : { requestsPerSecond: rate }),
    state,
    since: timeOf(sinceMs),
    ...(untilMs === undefined ? {} : { until: timeOf(untilMs) }),
    ...(releaseMs === undefined ? {} : { releaseSeconds: Math.round(releaseMs / 1_000) }),
    ...throttleOf(flow),
    ...relapsesOf(flow),
    changes: changesOf(account, facts),
    ...(generation === undefined ? {} : { generation }),
  };
}

function relapsesOf({ breaker: { state, relapses }, spec }: Flow): Pick<FlowStatus, "relapses" | "specHash"> {
  return {
    ...(relapses === undefined ? {} : { relapses }),
    ...(state === "GivenUp" ? { specHash: hashOfBlock(spec) } : {}),
  };
}

function throttleOf(flow: Flow): Pick<FlowStatus, "held" | "scaled" | "restored" | "releaseAttempts"> {
  const { account, release } = flow;
  const held = heldBy(flow);
  return {
    ...(held === undefined ? {} : { held }),
    ...fieldsOf(scaledOf(flow)),
    ...(release === undefined ? {} : { releaseAttempts: account.record?.releaseAttempts ?? 0 }),
  };
}

function heldBy(flow: Flow): FlowStatus["held"] {
  const { account, facts, breaker } = flow;
  const isScaled = facts.scaledDown.some(({ serviceAccountName }) => serviceAccountName === account.name);
  if (isScaled) return "ScaleToZero";
  return breaker.state === "Throttled" ? "Throttle" : undefined;
}

/** Latest time of a Date. */
const MAX_MS = 8.64e15;

/** RFC 3339 in whole seconds, for any number. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.min(MAX_MS, Math.max(0, ms))));
}
