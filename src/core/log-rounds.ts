// How often logs are read. The rounds themselves are in src/logs/reading/rounds.ts.

/** Time between two reads of a log without 401s, in milliseconds, while the budget of reads allows it. */
export const HEALTHY_INTERVAL_MS = 30_000;

/** Shortest time between two reads of a log: while 401s are suspected or a restarted pod's successor is observed. */
export const SUSPICIOUS_INTERVAL_MS = 5_000;

/**
 * How soon a log is wanted:
 * - `first`: it was never read.
 * - `suspect`: after {@link SUSPICIOUS_INTERVAL_MS}.
 * - `healthy`: after {@link HEALTHY_INTERVAL_MS}.
 * - `failing`: the last read failed; as `suspect`, but few at once, so that a dead node delays no other log.
 * - `unreadable`: several reads have failed; as `healthy`, but few at once.
 */
export type Urgency = "first" | "suspect" | "healthy" | "failing" | "unreadable";

/** The time between the starts of two reads, in milliseconds. */
export const INTERVALS_MS: Readonly<Record<Urgency, number>> = {
  first: 0,
  suspect: SUSPICIOUS_INTERVAL_MS,
  healthy: HEALTHY_INTERVAL_MS,
  failing: SUSPICIOUS_INTERVAL_MS,
  unreadable: HEALTHY_INTERVAL_MS,
};

/** What one read of a log came to. */
export interface LogRead {
  /** A pass of the object should look at it. */
  readonly hasNews: boolean;
  /** Requests that it took; the budget counts each. */
  readonly requests: number;
}

/** A log that is read again and again. */
export interface RoundsLog {
  /** May change with time, with each read, and with each {@link LogRounds.keep}. */
  urgency(): Urgency;
  /** Reads what is new. Never throws. */
  read(): Promise<LogRead>;
}

/** Reads the logs of all objects in turn, under one budget, and requests a pass where one has news. */
export interface LogRounds {
  /**
   * Sets the logs that one owner wants to be read for an object; others of this owner are no longer read. Does not wait for a read, but
   * in tests.
   */
  keep(owner: object, key: string, logs: readonly RoundsLog[]): Promise<void>;
  /** The time between two reads of a healthy log that the budget allows now, in milliseconds. */
  intervalMs(): number;
  /** Ends the reads for an owner. */
  drop(owner: object): void;
}
