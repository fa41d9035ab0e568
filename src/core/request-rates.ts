/** Requests of one FlowSchema, at all API servers that were read, between two readings. Times in milliseconds since the epoch. */
export interface RequestSpan {
  readonly fromMs: number;
  readonly toMs: number;
  /** Executed or rejected. A lower bound: counts that a server has not reported yet, or reports for the first time, are missing. */
  readonly requests: number;
}

/** Key in {@link RequestRates.spans} of the requests that were answered 401, which no FlowSchema matches. */
export const UNAUTHENTICATED = "401";

/** What is known of the requests of the operator's FlowSchemas. */
export interface RequestRates {
  /**
   * By name of the FlowSchema, oldest first, of the last 15 minutes at most, and bounded in number. A schema that is absent had no
   * requests. Spans of one schema are contiguous and don't overlap. A later answer may describe two spans as one: what a server
   * has missed to tell in between is known of both together.
   */
  readonly spans: Readonly<Record<string, readonly RequestSpan[]>>;
  /** When the last successful reading was made; absent: there was none yet. */
  readonly readMs?: number;
  /** Why the rates are not known, or not any more: a sentence for people. Absent: they are known. */
  readonly unknown?: string;
  /** An API server counts more FlowSchemas than are kept: what is absent from `spans` is unknown. */
  readonly isCut?: boolean;
  /**
   * An API server has started, appeared or left. Until then, in milliseconds since the epoch, clients may list everything again, so that a high
   * rate proves nothing. Absent: there was no such change.
   */
  readonly settlingUntilMs?: number;
  /**
   * API servers that there are, as far as is known, and how many of them the last attempt could read: with fewer the rates are lower bounds.
   * Behind one address, the servers that answered there lately.
   */
  readonly servers: { readonly found: number; readonly read: number };
}
