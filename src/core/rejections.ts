// Requests that an API server answered 401, as its audit webhook tells them: by the address of the client's connection. Pure.

/** One request that was answered 401. */
export interface RejectedRequest {
  /** Address of the connection, which a client cannot choose, unlike the addresses in its headers. */
  readonly address: string;
  /** When it was answered: wall-clock time of the API server. */
  readonly atMs: number;
}

/** The 401s of one address that belong together. */
export interface Rejections {
  readonly firstMs: number;
  readonly lastMs: number;
  /** How often, without those less than {@link ONE_OCCASION_MS} after the one before. */
  readonly occasions: number;
}

/** The 401s of one address, with the times of the last occasions. */
export interface RejectionSeries extends Rejections {
  /** The oldest first, {@link OCCASIONS_KEPT} at most. */
  readonly latestMs: readonly number[];
}

/** What the audit webhook of this process has told. */
export interface RejectionReading {
  /** False: this operator serves no audit webhook, so nothing is known. */
  readonly isServed: boolean;
  /** The 401s of an address; undefined if none is known. */
  of(address: string): RejectionSeries | undefined;
}

/** What became of a request to the audit webhook. */
export type AuditResult = "accepted" | "shed" | "too_large" | "invalid" | "unauthorized" | "standby";

/** Metrics of the audit webhook. */
export interface AuditMetrics {
  /** Counts a request, or a connection that a standby closed. */
  auditRequest(result: AuditResult): void;
  /** Counts requests to an API server that were answered 401. */
  auditRejections(count: number): void;
}

/** 401s closer together count as one. */
export const ONE_OCCASION_MS = 1_000;

/** Clients retry at least this often; after a longer pause 401s are counted from one. */
export const REJECTION_GAP_MS = 300_000;

/** Times of occasions that are remembered of each address: more than show that 401s last. */
const OCCASIONS_KEPT = 8;

/** Returns the 401s of an address with one more; the order in which several API servers tell of them does not matter. */
export function addRejection(before: RejectionSeries | undefined, atMs: number): RejectionSeries {
  if (before === undefined || atMs - before.lastMs > REJECTION_GAP_MS) {
    return { firstMs: atMs, lastMs: atMs, occasions: 1, latestMs: [atMs] };
  }
  const { firstMs, lastMs, occasions, latestMs } = before;
  const isNew = atMs - lastMs >= ONE_OCCASION_MS;
  return {
    firstMs: Math.min(firstMs, atMs),
    lastMs: Math.max(lastMs, atMs),
    occasions: occasions + (isNew ? 1 : 0),
    latestMs: isNew ? [...latestMs, atMs].slice(-OCCASIONS_KEPT) : latestMs,
  };
}

/**
 * Returns the 401s of the client that has an address since `fromMs`. If they began before, those within {@link REJECTION_GAP_MS} may be the
 * last ones of the client before. No pause in them was longer, so the present client has got them since the end of that time; of them only
 * the last occasions are counted.
 */
export function rejectionsSince(series: RejectionSeries, fromMs: number): Rejections | undefined {
  const { firstMs, lastMs, occasions, latestMs } = series;
  if (firstMs > fromMs) return { firstMs, lastMs, occasions };
  const sinceMs = fromMs + REJECTION_GAP_MS;
  const own = latestMs.filter(ms => ms > sinceMs);
  return own.length === 0 ? undefined : { firstMs: sinceMs, lastMs, occasions: own.length };
}
