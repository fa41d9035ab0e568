import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import type { Admin } from "../../cluster/admin";
import type { CrashProxy } from "../proxy";
import { type Census, takeCensus } from "./census";

const LOOK_MS = 2_000;
/** Nothing was written for this long. */
const STILL_MS = 6_000;
/**
 * Longer than any way to an end: a policy counts as in effect 30 s after it was made, and a hundred others are under way as well. Two minutes on two
 * processors with nothing else to do; where there were eight for each piece of work, five were not enough.
 */
const PATIENCE_MS = 900_000;

/** Everything at rest, and what did not come to rest. */
export interface Rest {
  readonly census: Census;
  /** By namespace: why its object is not. */
  readonly restless: ReadonlyMap<string, readonly string[]>;
  readonly seconds: number;
}

/** Waits until every object was looked at, nothing is under way, and nothing is written any more. */
export async function untilAtRest(admin: Admin, proxy: CrashProxy): Promise<Rest> {
  const startedMs = performance.now();
  let stillFromMs = Infinity;
  let written = -1;
  for (;;) {
    await sleep(LOOK_MS);
    const census = await takeCensus(admin);
    const restless = restlessOf(census);
    const count = proxy.writes.length + proxy.strays.length;
    const now = performance.now();
    if (restless.size > 0 || count !== written) stillFromMs = now;
    written = count;
    const seconds = (now - startedMs) / 1000;
    if (now - stillFromMs >= STILL_MS || now - startedMs > PATIENCE_MS) return { census, restless, seconds };
  }
}

function restlessOf({ plots }: Census): Map<string, readonly string[]> {
  const all = [...plots].map(([namespace, { object }]) => [namespace, whyRestless(object)] as const);
  return new Map(all.filter(([, why]) => why.length > 0));
}

function whyRestless({ metadata, spec, status = {} }: ControllerResilience): string[] {
  if (status.observedGeneration !== metadata.generation) return ["its spec was not looked at"];
  const conditions = status.conditions ?? [];
  const unknown = conditions.filter(condition => condition.status === "Unknown" && !spec.suspend);
  const busy = conditions.filter(({ type, status: is }) => type === "Reconciling" && is === "True");
  return [...unknown, ...busy].map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
}
