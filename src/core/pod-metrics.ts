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

/** What one page says of a work queue. What it does not say is absent. */
export interface QueuePage {
  /** Items that wait. */
  readonly depth?: number;
  /** Items that were finished, and errors that were counted, since the process started. */
  readonly done: number;
  /** No item has taken longer, in milliseconds: the highest bucket that is filled. Absent: none is. */
  readonly slowestMs?: number;
  /** How long the item that has taken longest until now is being worked on, in milliseconds. */
  readonly longestMs?: number;
  /** All workers are busy. Absent: how many there are is not known. */
  readonly isFull?: boolean;
}

/** The wanted part of one page. */
export interface MetricsPage {
  /** Start time of the process, in seconds since the epoch. */
  readonly startSeconds: number;
  /** Absent: it takes no part in an election. */
  readonly isLeader?: boolean;
  readonly queues: ReadonlyMap<string, QueuePage>;
  /** Its requests to API servers since it started; absent: it counts none. */
  readonly requests?: RequestCounts;
}

/** Requests of a process to API servers since it started. */
export interface RequestCounts {
  readonly gets: number;
  readonly puts: number;
  /** Answered 2xx, answered 401, and answered 401, 403 or 422. */
  readonly accepted: number;
  readonly unauthorized: number;
  readonly refused: number;
  /** All of them went to the API servers of this cluster, as far as their address shows. */
  readonly isOwnServer: boolean;
}

/** A queue as the readings of one process show it. Times are on the monotonic clock. */
export interface QueueTrack extends QueuePage {
  /** Items have waited at every reading since then. Absent: none waits, or that is unknown. */
  readonly waitingFromMs?: number;
  /** All workers were busy at every reading since then. Absent: one is idle, or that is unknown. */
  readonly fullFromMs?: number;
  /** The count of finished items has stood still since then. */
  readonly idleFromMs: number;
  /** An item was last seen finished, or an error counted. Absent: never by this process. */
  readonly workedMs?: number;
}

/** Requests of one process as its readings show them. Times are on the monotonic clock. */
export interface RequestTrack extends RequestCounts {
  /** There has been no GET since then. */
  readonly getMs: number;
  /** Until `getMs`, no time without a GET has been longer than {@link GET_GAP_MS} since then. */
  readonly getsFromMs: number;
  /** Each reading since then has shown new PUTs. */
  readonly putsFromMs: number;
  /** Nothing was answered 2xx since then. */
  readonly acceptedMs: number;
  /** Readings since then that showed new 401s, and when the first and the last of them was. */
  readonly unauthorizedTimes?: number;
  readonly unauthorizedFromMs?: number;
  readonly unauthorizedMs?: number;
  /** When 401s, 403s or 422s were last seen to grow. */
  readonly refusedMs?: number;
}

/** One process of a pod, followed from reading to reading. Times are on the monotonic clock. */
export interface PodMetricsTrack extends Omit<MetricsPage, "queues" | "requests"> {
  /** The first and the last of its readings. */
  readonly fromMs: number;
  readonly readMs: number;
  readonly queues: ReadonlyMap<string, QueueTrack>;
  readonly requests?: RequestTrack;
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
