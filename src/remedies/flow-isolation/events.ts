import type { EventRequest } from "../../core/remedy";
import { isRunaway } from "./breaker";
import { measured, nameOf, type Flow } from "./flow";

/** Events for the breaker's steps that write nothing: writes cause their own Events. */
export function eventsOf(flow: Flow): EventRequest[] {
  const { before, breaker, reading, limits } = flow;
  const step = before?.state === breaker.state ? undefined : STEPS[breaker.state];
  if (step !== undefined && breaker.state !== "Normal") return [eventOf(flow, step)];
  if (!SILENT.includes(breaker.state) && isRunaway(reading, limits)) return [eventOf(flow, RUNAWAY)];
  return step === undefined || before === undefined ? [] : [eventOf(flow, step)];
}

type Step = readonly [type: EventRequest["type"], reason: string, what: string];

const STEPS: Partial<Record<Flow["breaker"]["state"], Step>> = {
  Elevated: ["Normal", "Elevated", "is above its threshold"],
  Normal: ["Normal", "FlowNormal", "is well below its threshold again"],
  GivenUp: ["Warning", "ThrottleGivenUp", "relapsed too often and is given up"],
};

const RUNAWAY: Step = ["Warning", "Runaway", "is a runaway"];

/** A throttle writes, which causes its own Event; a flow that was given up had its Event. */
const SILENT: readonly Flow["breaker"]["state"][] = ["Throttled", "GivenUp"];

function eventOf(flow: Flow, [type, reason, what]: Step): EventRequest {
  const { facts, account } = flow;
  const about = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    namespace: facts.owner.metadata.namespace,
    name: account.name,
  };
  return { type, reason, note: `${nameOf(flow)} ${what}: ${measured(flow)}`, about };
}
