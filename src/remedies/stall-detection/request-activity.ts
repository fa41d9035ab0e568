import type { RequestRates, RequestSpan } from "../../core/request-rates";

/** A program that made requests in every minute, and no pause of more than this, is one that always does. */
const PAUSE_MS = 90_000;

/** for this long. */
export const ACTIVE_MS = 3_600_000;

/** An hour with a longer gap in what is known begins again. API servers that start are not believed for five minutes. */
const MAX_UNKNOWN_MS = 600_000;

interface Activity {
  activeSinceMs: number;
  lastMs: number;
  /** Time between activeSinceMs and lastMs of which nothing is known, and the same since lastMs. */
  unknownMs: number;
  unknownSinceLastMs: number;
  /** The last reading that was known. */
  readMs: number;
  /** The first reading of those without a gap before it. */
  knownFromMs: number;
  isUnknown: boolean;
}

/** When flows made requests, followed from pass to pass in the counters that flowIsolation makes possible. */
export class RequestActivity {
  readonly #flows = new Map<string, Activity>();

  /**
   * Takes the rates of FlowSchemas that count as one flow. Returns since when it has made no request, if it made some in every minute of an
   * hour before; undefined if not, or if that is unknown. Time of which nothing is known is neither activity nor a pause, and a silence
   * begins after it: in a day, hardly any hour has no reading that fails.
   */
  follow(flowSchemas: readonly string[], rates: RequestRates, nowMs: number): number | undefined {
    const { readMs } = rates;
    const key = flowSchemas.join(" ");
    if (readMs === undefined || isUnknown(rates, nowMs)) {
      this.#miss(key, nowMs);
      return undefined;
    }
    this.#resume(key, readMs);
    const spans = flowSchemas.flatMap(name => rates.spans[name] ?? []).filter(({ requests }) => requests > 0);
    for (const span of spans.sort((a, b) => a.fromMs - b.fromMs)) this.#add(key, span, readMs);
    const flow = this.#flows.get(key);
    if (flow === undefined || flow.lastMs - flow.activeSinceMs - flow.unknownMs < ACTIVE_MS) return undefined;
    return readMs <= flow.lastMs ? undefined : Math.max(flow.lastMs, flow.knownFromMs);
  }

  #miss(key: string, nowMs: number): void {
    const flow = this.#flows.get(key);
    if (flow === undefined) return;
    flow.isUnknown = true;
    if (nowMs - flow.readMs > MAX_UNKNOWN_MS) this.#flows.delete(key);
  }

  /** Notes this reading, and the time before it of which nothing is known. */
  #resume(key: string, readMs: number): void {
    const flow = this.#flows.get(key);
    if (flow === undefined) return;
    if (flow.isUnknown) {
      flow.unknownSinceLastMs += Math.max(0, readMs - flow.readMs);
      flow.knownFromMs = readMs;
      flow.isUnknown = false;
    }
    flow.readMs = readMs;
  }

  #add(key: string, { fromMs, toMs }: Pick<RequestSpan, "fromMs" | "toMs">, readMs: number): void {
    const flow = this.#flows.get(key);
    if (flow === undefined || fromMs - flow.lastMs - flow.unknownSinceLastMs > PAUSE_MS) {
      const began = { activeSinceMs: fromMs, lastMs: toMs, unknownMs: 0, unknownSinceLastMs: 0 };
      this.#flows.set(key, { ...began, readMs, knownFromMs: fromMs, isUnknown: false });
    } else if (toMs > flow.lastMs) {
      flow.lastMs = toMs;
      flow.unknownMs += flow.unknownSinceLastMs;
      flow.unknownSinceLastMs = 0;
    }
  }
}

function isUnknown({ unknown, isCut, servers, settlingUntilMs = 0 }: RequestRates, nowMs: number): boolean {
  return unknown !== undefined || isCut === true || servers.read < servers.found || nowMs < settlingUntilMs;
}
