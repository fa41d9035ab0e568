import type { RequestRates } from "../../core/request-rates";

/** A program that made requests in every minute, and no pause of more than this, is one that always does. */
const PAUSE_MS = 90_000;

/** for this long. */
export const ACTIVE_MS = 3_600_000;

interface Activity {
  activeSinceMs: number;
  lastMs: number;
}

/** When flows made requests, followed from pass to pass in the counters that flowIsolation makes possible. */
export class RequestActivity {
  readonly #flows = new Map<string, Activity>();

  /**
   * Takes the rates of FlowSchemas that count as one flow. Returns since when it has made no request, if it made some in every minute of an
   * hour before; undefined if not, or if that is unknown. Anything unknown restarts the hour.
   */
  follow(flowSchemas: readonly string[], rates: RequestRates, nowMs: number): number | undefined {
    const { readMs } = rates;
    const key = flowSchemas.join(" ");
    if (readMs === undefined || isUnknown(rates, nowMs)) {
      this.#flows.delete(key);
      return undefined;
    }
    const spans = flowSchemas.flatMap(name => rates.spans[name] ?? []).filter(({ requests }) => requests > 0);
    for (const { fromMs, toMs } of spans.sort((a, b) => a.fromMs - b.fromMs)) this.#add(key, fromMs, toMs);
    const flow = this.#flows.get(key);
    if (flow === undefined || flow.lastMs - flow.activeSinceMs < ACTIVE_MS || readMs <= flow.lastMs) return undefined;
    return flow.lastMs;
  }

  #add(key: string, fromMs: number, toMs: number): void {
    const flow = this.#flows.get(key);
    if (flow === undefined || fromMs - flow.lastMs > PAUSE_MS) {
      this.#flows.set(key, { activeSinceMs: fromMs, lastMs: toMs });
    } else {
      flow.lastMs = Math.max(flow.lastMs, toMs);
    }
  }
}

function isUnknown({ unknown, isCut, servers, settlingUntilMs = 0 }: RequestRates, nowMs: number): boolean {
  return unknown !== undefined || isCut === true || servers.read < servers.found || nowMs < settlingUntilMs;
}
