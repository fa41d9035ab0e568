import type { Announcement } from "../../core/legacy-remedy";
import { isRunaway } from "./breaker";
import { measured, nameOf, type Flow } from "./flow";

/** Steps of the breaker that write nothing, and so make no Event by themselves. */
export function announce(flow: Flow): Announcement[] {
  const { before, breaker, reading, limits } = flow;
  const isStep = before?.state !== breaker.state;
  if (isStep && breaker.state === "Elevated")
    return [tell(flow, "Warning", "Elevated", `is over its threshold: ${measured(flow)}`)];
  // One that may be throttled is by now, and that makes an Event.
  if (breaker.state !== "Throttled" && isRunaway(reading, limits)) {
    return [tell(flow, "Warning", "Runaway", `is a runaway: ${measured(flow)}`)];
  }
  if (isStep && before !== undefined && breaker.state === "Normal") {
    return [tell(flow, "Normal", "FlowNormal", `is well below its threshold again: ${measured(flow)}`)];
  }
  return [];
}

function tell(flow: Flow, type: Announcement["type"], reason: string, what: string): Announcement {
  const { facts, account } = flow;
  const about = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    namespace: facts.owner.metadata.namespace,
    name: account.name,
  };
  return { type, reason, note: `${nameOf(flow)} ${what}`, about };
}
