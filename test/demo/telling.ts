import type { StatusCondition } from "../../src/api/controller-resilience";
import type { ClusterClient } from "../cluster/client";
import type { Timeline } from "./timeline";

const TONES = { True: "good", False: "bad", Unknown: "busy" } as const;

/** Prints one condition. Messages contain changing numbers, so it prints one line per status and reason. */
export class ConditionTeller {
  private last = "";

  constructor(private readonly timeline: Timeline) {}

  /** Prints a line if the status or the reason has changed. */
  tell(condition: StatusCondition | undefined): void {
    if (!condition) return;
    const { type, status, reason, message } = condition;
    if (this.last === `${status} ${reason}`) return;
    this.last = `${status} ${reason}`;
    this.timeline.state("condition", `${type}=${status} ${reason}: ${message}`, TONES[status]);
  }
}

/** Prints the only object of a namespace, its conditions, and the Events of all objects with its name, as kubectl does. */
export async function quoteObject(
  client: ClusterClient,
  timeline: Timeline,
  { namespace, name }: { namespace: string; name: string },
): Promise<void> {
  const conditions = '{range .items[0].status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}';
  for (const args of [
    ["get", "cres", "-n", namespace],
    ["get", "cres", "-n", namespace, "-o", `jsonpath=${conditions}`],
    ["get", "events", "-n", namespace, "--field-selector", `involvedObject.name=${name}`],
  ]) {
    timeline.heading(`$ kubectl ${args.map(arg => (/[\s{]/.test(arg) ? `'${arg}'` : arg)).join(" ")}`);
    timeline.quote(await client.output(args));
  }
}
