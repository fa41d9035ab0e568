import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import type { Admin } from "../../cluster/admin";
import type { CrashProxy } from "../proxy";
import { type Census, takeCensus } from "./census";

const LOOK_MS = 2_000;
/** Time without writes after which the cluster counts as settled. */
const STILL_MS = 6_000;
/**
 * Longer than any change takes to settle: a policy counts as effective 30 s after its creation, beside a hundred other changes. On two idle
 * processors it takes two minutes; five were not enough where eight runs shared them.
 */
const PATIENCE_MS = 900_000;

/** The settled state, and the objects that did not settle. */
export interface Rest {
  readonly census: Census;
  /** By namespace: why its object has not settled. */
  readonly restless: ReadonlyMap<string, readonly string[]>;
  readonly seconds: number;
}

/** Waits until every object was reconciled, no change is in progress, and nothing is written any more. */
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
  if (status.observedGeneration !== metadata.generation) return ["the spec was not reconciled"];
  const conditions = status.conditions ?? [];
  const unknown = conditions.filter(condition => condition.status === "Unknown" && !spec.suspend);
  const busy = conditions.filter(({ type, status: is }) => type === "Reconciling" && is === "True");
  return [...unknown, ...busy].map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
}
