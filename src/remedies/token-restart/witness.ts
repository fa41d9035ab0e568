import type { RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { Readers, Refusals } from "../../core/readers";
import { workloadId } from "../../core/text";
import { type Persistence, RECOVERED_AFTER_MS } from "../../logs/persistence";
import { isUnproven, restartsOf } from "../../restarts/history";
import { isExhausted } from "../../restarts/limits";
import { deferred, limitsOf } from "../kit/restarting";
import { causeOf, type Observed, type ObservedPod, type ObservedWorkload, rejectionsOf } from "./observed";
import { stalled, type Assessment } from "./reasons";

// The second witness of 401s in logs and Events: the counters of the API servers. If no API server has refused a request, the 401s came from
// another server, or are no 401s at all. A risen counter proves nothing about a single pod.

/** An older reading is repeated, in milliseconds: those for the rounds of logs are as rare as large pages make them. */
const AGE_MS = 10_000;

/** The counters prove nothing before they cover this time, in milliseconds. */
const COVERED_MS = 30_000;

/** Clocks of nodes differ from that of the API server by less than this, in milliseconds; else the kubelet's tokens would fail. */
const CLOCK_MARGIN_MS = 10_000;

/** A refusal is logged, and counted by a server that has just started, within this time of each other, in milliseconds. */
const APART_MS = 60_000;

/** Asks the API servers, if a restart without proof may follow. */
export async function askServers(
  observed: Observed,
  spec: TokenRestartSpec,
  readers: Pick<Readers, "requestRates" | "serverWithoutKey" | "clock">,
): Promise<Pick<Observed, "refusals" | "serverWithoutKey">> {
  const now = readers.clock.now();
  if (!observed.workloads.some(workload => mayRestart(workload, observed, spec, now))) return {};
  const { refusals } = await readers.requestRates(AGE_MS);
  return { refusals, serverWithoutKey: await readers.serverWithoutKey(AGE_MS) };
}

function mayRestart({ view, pods }: ObservedWorkload, observed: Observed, spec: TokenRestartSpec, now: Date): boolean {
  const [limits, history] = [limitsOf(spec), restartsOf(workloadId(view), observed.restarts)];
  const accused = pods.filter(pod => rejectionsOf(pod).state === "persistent" && pod.proof === undefined);
  const healable = accused.filter(pod => !view.skip && !pod.view.skip);
  return healable.some(pod => !isExhausted({ cause: causeOf(pod), limits }, history, now));
}

/** A pod of a workload that would be restarted next. */
interface Accusation {
  readonly observed: Pick<Observed, "refusals" | "serverWithoutKey">;
  readonly next: { readonly pod: ObservedPod; readonly claim: Pick<RestartStatus, "cause"> } | undefined;
  /** How many pods of the workload are rejected. */
  readonly share: string;
}

/** Holds a restart without proof while one of the API servers may refuse valid tokens: the next pod may ask the same. */
export function serverLacksKey({ observed, next, share }: Accusation): Assessment | undefined {
  const { serverWithoutKey: server } = observed;
  if (server === undefined || next === undefined || !isUnproven(next.claim)) return undefined;
  return deferred(
    `${share}; no restart, because API server ${server} lacks a signing key that another one publishes, and may refuse valid tokens.`,
    { wayOut: "give all API servers the same --service-account-key-file" },
  );
}

/** Holds a restart without proof while the API servers contradict it, or have not been asked for long enough. */
export function notWitnessed({ observed, next, share }: Accusation): Assessment | undefined {
  const { refusals } = observed;
  if (next === undefined) return undefined;
  const rejections = rejectionsOf(next.pod);
  // No counter has the kubelet's 401s, which count only if they began with a change that the operator has seen itself.
  if (rejections.isKubelets === true) return undefined;
  if (refusals === undefined || !isUnproven(next.claim)) return undefined;
  const isCovered = covers(refusals, rejections);
  if (!isCovered)
    return deferred(`${share}; the operator counts first whether the API servers refuse requests.`, {
      wayOut: "compare the clock of the pod's node with the clock of the API server",
    });
  const isOnceRefused = refusals.refused.length > 0;
  if (isOnceRefused && mayBeRefused(refusals, rejections.firstMs)) return undefined;
  const why = isOnceRefused
    ? "its 401s began before any API server of this cluster sent one"
    : "no API server of this cluster has answered a request with 401 meanwhile";
  return stalled(
    `${share}; no restart, because ${why}; check which other server pod ${next.pod.view.name} uses, such as an aggregated API server.`,
  );
}

/** Where nothing was counted, the last 401 may be younger than the counters, and the one before it older, or all may be younger. */
function covers({ fromMs, toMs, refused }: Refusals, { firstMs = 0, lastMs = 0 }: Persistence): boolean {
  if (refused.length === 0 && firstMs > toMs - CLOCK_MARGIN_MS) return false;
  const leastMs = refused.length === 0 && firstMs < fromMs + CLOCK_MARGIN_MS ? RECOVERED_AFTER_MS : COVERED_MS;
  return toMs - fromMs >= leastMs && lastMs >= fromMs + CLOCK_MARGIN_MS;
}

/** Whether an API server may have sent the first 401 of a log. That others are refused later proves nothing about it. */
function mayBeRefused({ fromMs, toMs, refused }: Refusals, firstMs = 0): boolean {
  if (firstMs < fromMs + CLOCK_MARGIN_MS || firstMs > toMs - CLOCK_MARGIN_MS) return true;
  return refused.some(one => one.fromMs <= firstMs + APART_MS && one.toMs >= firstMs - APART_MS);
}
