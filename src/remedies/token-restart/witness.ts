import { Cause } from "../../api/conditions";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { type Readers, refusalsIn, type Refusals } from "../../core/readers";
import { isUnproven, restartsOf } from "../../restarts/history";
import { workloadId } from "../../restarts/claims";
import { isExhausted } from "../../restarts/limits";
import { budgetOf, type WorkloadState } from "./candidates";
import type { Observed, ObservedWorkload } from "./observed";
import { deferred, stalled, type Assessment } from "./reasons";

// The second witness of 401s in logs: the counters of the API servers. If no API server has refused a request, the 401s came from another
// server, or are no 401s at all. A risen counter proves nothing about a single pod.

/** Age of the counters while a restart depends on them, in milliseconds. A reading has megabytes. */
const COUNTERS_AGE_MS = 10_000;

/** Age once they were asked for {@link BUSY_MS}: what has not been restarted by then waits for something else. */
const CHRONIC_AGE_MS = 60_000;
const BUSY_MS = 300_000;

/** Age while they can prove nothing, such as with a single address. When they cannot be read, the last reading holds for as long. */
const NO_WITNESS_AGE_MS = 300_000;

/** The counters prove nothing before they cover this time, in milliseconds. */
const COVERED_MS = 30_000;

/** Clocks of nodes differ from that of the API server by less than this, in milliseconds; else the kubelet's tokens would fail. */
const CLOCK_MARGIN_MS = 10_000;

/** Asks the API servers how many requests they have refused, only while a restart on log evidence alone may follow. */
export class Witness {
  #hasSeveral = true;
  #known: { readonly refusals?: Refusals; readonly atMs: number } = { atMs: -Infinity };
  /** First and last request in a row, on the monotonic clock. */
  #askedMs = { first: -Infinity, last: -Infinity };

  /** Undefined: not asked, or there is no witness. */
  async ask(
    observed: Pick<Observed, "workloads" | "restarts" | "generation">,
    spec: TokenRestartSpec,
    readers: Pick<Readers, "requestRates" | "clock">,
  ): Promise<Refusals | undefined> {
    if (!observed.workloads.some(workload => mayRestart(workload, observed, spec, readers.clock.now())))
      return undefined;
    const nowMs = readers.clock.monotonicMs();
    const rates = await readers.requestRates(this.#ageMs(nowMs));
    this.#hasSeveral = rates.unknown !== undefined || rates.servers.found >= 2;
    const refusals = refusalsIn(rates);
    if (refusals !== undefined) this.#known = { refusals, atMs: nowMs };
    return nowMs - this.#known.atMs < NO_WITNESS_AGE_MS ? this.#known.refusals : undefined;
  }

  #ageMs(nowMs: number): number {
    const { first, last } = this.#askedMs;
    this.#askedMs = { first: nowMs - last > CHRONIC_AGE_MS ? nowMs : first, last: nowMs };
    if (!this.#hasSeveral) return NO_WITNESS_AGE_MS;
    return nowMs - this.#askedMs.first > BUSY_MS ? CHRONIC_AGE_MS : COUNTERS_AGE_MS;
  }
}

function mayRestart(
  { view, pods }: ObservedWorkload,
  observed: Pick<Observed, "restarts" | "generation">,
  spec: TokenRestartSpec,
  now: Date,
): boolean {
  const claim = { cause: Cause.Unknown, ...budgetOf(spec, observed) };
  if (view.skip || isExhausted(claim, restartsOf(workloadId(view), observed.restarts), now)) return false;
  return pods.some(pod => pod.logs.state === "persistent" && pod.proof === undefined && !pod.view.skip);
}

/** Holds a restart on log evidence alone while the API servers contradict it, or have not been asked for long enough. */
export function notWitnessed({ observed, next, share }: WorkloadState): Assessment | undefined {
  const { refusals } = observed;
  if (refusals === undefined || next === undefined || !isUnproven(next.claim)) return undefined;
  const { fromMs, toMs, count } = refusals;
  const isCovered = toMs - fromMs >= COVERED_MS && (next.pod.logs.lastMs ?? 0) >= fromMs + CLOCK_MARGIN_MS;
  if (!isCovered)
    return deferred(`${share}; the operator counts first whether the API servers refuse requests.`, {
      wayOut: "compare the clock of the pod's node with the clock of the API server",
    });
  if (count > 0) return undefined;
  return stalled(
    `${share}; no restart, because no API server of this cluster has answered a request with 401 meanwhile; check which other server pod ${next.pod.view.name} uses, such as an aggregated API server.`,
  );
}
