import type { RequestRates } from "../../core/request-rates";

/** A program that made requests in every minute, and no pause of more than this, is one that always does. */
const PAUSE_MS = 90_000;

/** for this long. */
const ACTIVE_MS = 3_600_000;

interface Activity {
  activeSinceMs: number;
  lastMs: number;
}

/** When flows made requests, followed from pass to pass in the counters that flowIsolation makes possible. */
export class RequestActivity {
  readonly #flows = new Map<string, Activity>();

  /**
   * Takes the rates of a flow. Returns since when it has made none, if it made some in every minute of an hour before; undefined if not, or
   * if that is unknown. Anything unknown restarts the hour.
   */
  follow(flowSchema: string, rates: RequestRates, nowMs: number): number | undefined {
    const { readMs } = rates;
    if (readMs === undefined || isUnknown(rates, nowMs)) {
      this.#flows.delete(flowSchema);
      return undefined;
    }
    const spans = (rates.spans[flowSchema] ?? []).filter(({ requests }) => requests > 0);
    for (const { fromMs, toMs } of spans) this.#add(flowSchema, fromMs, toMs);
    const flow = this.#flows.get(flowSchema);
    if (flow === undefined || flow.lastMs - flow.activeSinceMs < ACTIVE_MS || readMs <= flow.lastMs) return undefined;
    return flow.lastMs;
  }

  #add(flowSchema: string, fromMs: number, toMs: number): void {
    const flow = this.#flows.get(flowSchema);
    if (flow === undefined || fromMs - flow.lastMs > PAUSE_MS) {
      this.#flows.set(flowSchema, { activeSinceMs: fromMs, lastMs: toMs });
    } else {
      flow.lastMs = Math.max(flow.lastMs, toMs);
    }
  }
}

function isUnknown({ unknown, isCut, servers, settlingUntilMs = 0 }: RequestRates, nowMs: number): boolean {
  return unknown !== undefined || isCut === true || servers.read < servers.found || nowMs < settlingUntilMs;
}
