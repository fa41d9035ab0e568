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

/** What the audit webhook of this process has told. */
export interface RejectionReading {
  /** False: this operator serves no audit webhook, so nothing is known. */
  readonly isServed: boolean;
  /** The 401s of an address; undefined if none is known. */
  of(address: string): Rejections | undefined;
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

/** Returns the 401s of an address with one more; the order in which several API servers tell of them does not matter. */
export function addRejection(before: Rejections | undefined, atMs: number): Rejections {
  if (before === undefined || atMs - before.lastMs > REJECTION_GAP_MS) {
    return { firstMs: atMs, lastMs: atMs, occasions: 1 };
  }
  const { firstMs, lastMs, occasions } = before;
  const isNew = atMs - lastMs >= ONE_OCCASION_MS;
  return { firstMs: Math.min(firstMs, atMs), lastMs: Math.max(lastMs, atMs), occasions: occasions + (isNew ? 1 : 0) };
}
