// What pods serve about themselves in the text format of Prometheus, and what the operator learns by reading it again and again. A pod may
// say what it likes: it counts for that pod only, and no text of it but the names of its queues is kept.

import type { Problem } from "./errors";

/** One sample of the Prometheus text format. */
export interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  /** NaN for what is no number, and for infinity. */
  readonly value: number;
}

/** As Go prints it, without a timestamp. The labels that are read here have names as values, so nothing is escaped. */
const SAMPLE = /^([a-z_]+)(?:\{((?:[a-z_]+="[^"\\]*",?)*)\})? (\S+)$/;
const LABEL = /([a-z_]+)="([^"\\]*)"/g;

/** Parses a line without its line break; null for a comment or any other line. */
export function parseSample(line: string): Sample | null {
  const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
  if (name === undefined) return null;
  return {
    name,
    labels: new Map(Array.from(labels.matchAll(LABEL), ([, key = "", text = ""]) => [key, text])),
    value: Number(value),
  };
}

/** A count of a page, as the readings of one process show it. Times are on the monotonic clock. */
export interface Counter {
  readonly count: number;
  /** It has stood still since then. */
  readonly stillFromMs: number;
  /** It was seen to change then. */
  readonly hasChanged: boolean;
}

/** A work queue, as the readings of one process show it. */
export interface QueueTrack {
  /** Items that wait; 0 also if that is unknown. */
  readonly depth: number;
  /** Items have waited at every reading since then. Infinity: none waits, or that is unknown. */
  readonly waitingFromMs: number;
  /** All workers were busy at every reading since then. Infinity: one is idle, or that is unknown. */
  readonly fullFromMs: number;
  /** Items that were finished, and errors that were counted, since the process started. */
  readonly done: Counter;
  /** No item has taken longer, in milliseconds: the highest bucket that is filled. Infinity: none is. */
  readonly slowestMs: number;
  /** How long the item that has taken longest until now is being worked on, in milliseconds; 0 also if that is unknown. */
  readonly longestMs: number;
}

/** What is counted of the requests of a process to API servers: two methods; answers 2xx; 401; and 401, 403 or 422. */
export type RequestCount = "gets" | "puts" | "accepted" | "unauthorized" | "refused";

/** Requests of one process to API servers. */
export interface RequestTrack extends Readonly<Record<RequestCount, Counter>> {
  /** All of them went to the API servers of this cluster, as far as their address shows. */
  readonly isOwnServer: boolean;
  /** Until the last GET, no time without one has been longer than {@link GET_GAP_MS} since then. */
  readonly getsFromMs: number;
  /** The last reading that showed no new PUT. */
  readonly putlessMs: number;
  /** The first two readings, and the last one, that showed new 401s since a request was accepted. */
  readonly rejectedMs: readonly number[];
}

/** One process of a pod, followed from reading to reading. */
export interface PodMetricsTrack {
  /** Start time of the process, in seconds since the epoch. */
  readonly startSeconds: number;
  /** Undefined: it takes no part in an election. */
  readonly isLeader: boolean | undefined;
  /** The first and the last of its readings. */
  readonly fromMs: number;
  readonly readMs: number;
  readonly queues: ReadonlyMap<string, QueueTrack>;
  /** Undefined: it counts none. */
  readonly requests: RequestTrack | undefined;
}

/** What is known of the metrics of one pod. */
export interface PodMetricsReading {
  /** Absent: it was not read yet, or not for too long. */
  readonly track?: PodMetricsTrack;
  /** Why it is not known, or not any more. Absent: it is known, or is being read for the first time. */
  readonly unknown?: Problem;
}

/** Readings further apart than this, in milliseconds, do not belong together: three may fail. */
export const READINGS_APART_MS = 100_000;

/** client-go opens each watch again after 5 to 10 minutes: the longest healthy time without a GET, in milliseconds, is below this. */
export const GET_GAP_MS = 660_000;
