import { formatDuration } from "../../core/duration";
import type { Intent } from "../../core/intent";
import {
  isContested,
  isInQuarantine,
  isPutBack,
  isQuarantined,
  measured,
  nameOf,
  piecesOf,
  thresholdOf,
  type Flow,
} from "./flow";
import { throttles } from "./facts";
import type { Write } from "./item";
import { buildWrite, EVENT } from "./writes";

/** The API server ignores a FlowSchema without its level, which lifts a throttle: nothing may block that. */
export function mayWrite(flow: Flow, isLevelUsable: boolean): boolean {
  const isToBeWritten = isLevelUsable || flow.breaker.state === "Throttled" || isInQuarantine(flow);
  return isToBeWritten && !isContested(flow);
}

/** The write of its FlowSchemas; undefined when there is none, or when its level cannot be used. */
export function writeOfFlow(
  flow: Flow,
  isLevelUsable: boolean,
): { intents: readonly Intent[]; write: Write } | undefined {
  if (!mayWrite(flow, isLevelUsable)) return undefined;
  const { step, why } = reasonToWrite(flow);
  const words = { why, eventReason: EVENT_OF[step] };
  const intents = piecesOf(flow).flatMap(({ wanted, state }) => buildWrite(wanted, state, words) ?? []);
  if (intents.length === 0) return undefined;
  return { intents, write: { step, why, ...(flow.own.state.is === "missing" ? NOT_MEASURED : {}) } };
}

const NOT_MEASURED = { unwritten: "Requests are measured only once the ServiceAccount is isolated." };

/** Why the FlowSchemas are written now: a step of the breaker first, since people look for that. */
function reasonToWrite(flow: Flow): Pick<Write, "why"> & { readonly step: keyof typeof EVENT_OF } {
  const { breaker, before, level, account } = flow;
  if (isQuarantined(flow) && account.record?.priorityLevel !== level) {
    const why = `${nameOf(flow)} is throttled for ${formatDuration(breaker.releaseMs ?? 0)}: ${measured(flow)}`;
    return { step: "Throttle", why };
  }
  if (!isQuarantined(flow) && isInQuarantine(flow)) {
    const probation = before?.state === "Throttled" ? `, on probation: ${whyReleased(flow)}` : "";
    return { step: "Release", why: `${nameOf(flow)} is released to level ${level}${probation}.` };
  }
  if (isPutBack(flow))
    return { step: "PutBack", why: `${nameOf(flow)}: its FlowSchemas were changed; restoring them.` };
  return { step: "Provision", why: `${nameOf(flow)} gets its own flow on level ${level}.` };
}

const EVENT_OF = {
  Provision: EVENT.provisioned,
  PutBack: EVENT.putBack,
  Throttle: EVENT.throttled,
  Release: EVENT.released,
} as const;

function whyReleased(flow: Flow): string {
  const { spec, breaker } = flow;
  const { onRunaway, for: over } = spec.requestRate;
  if (!throttles(spec)) return `onRunaway is ${onRunaway}`;
  return `its throttle of ${formatDuration(breaker.releaseMs ?? 0)} is over; ${thresholdOf(flow)} for ${over} would throttle it again`;
}
