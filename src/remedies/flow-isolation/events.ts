import type { EventRequest } from "../../core/remedy";
import { isRunaway } from "./breaker";
import { measured, nameOf, type Flow } from "./flow";

/** Events for the breaker's steps that write nothing: writes cause their own Events. */
export function eventsOf(flow: Flow): EventRequest[] {
  const { before, breaker, reading, limits } = flow;
  const isStep = before?.state !== breaker.state;
  if (isStep && breaker.state === "Elevated")
    return [eventOf(flow, "Warning", "Elevated", `is above its threshold: ${measured(flow)}`)];
  // A throttle writes, which causes its own Event.
  if (breaker.state !== "Throttled" && isRunaway(reading, limits)) {
    return [eventOf(flow, "Warning", "Runaway", `is a runaway: ${measured(flow)}`)];
  }
  if (isStep && before !== undefined && breaker.state === "Normal") {
    return [eventOf(flow, "Normal", "FlowNormal", `is well below its threshold again: ${measured(flow)}`)];
  }
  return [];
}

function eventOf(flow: Flow, type: EventRequest["type"], reason: string, what: string): EventRequest {
  const { facts, account } = flow;
  const about = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    namespace: facts.owner.metadata.namespace,
    name: account.name,
  };
  return { type, reason, note: `${nameOf(flow)} ${what}`, about };
}
