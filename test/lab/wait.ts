import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export interface Wait {
  /** The awaited state, as in the error: "the API server to be ready". */
  what: string;
  timeoutMs: number;
  /** Returns true once the state is reached; undefined or false to poll again. A thrown error becomes part of the final error. */
  until: () => Promise<boolean> | boolean;
  /** Throws if waiting is pointless, such as after the exit of the process. */
  check?: () => void;
  /** A log file, whose last lines become part of the error. */
  log?: string;
}

const POLL_MS = 50;
const TAIL_BYTES = 16_384;

/** Waits for a state; after the time limit, throws with the awaited state and the end of the log. */
export async function waitFor(wait: Wait): Promise<void> {
  const deadline = Date.now() + wait.timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      if (await wait.until()) return;
    } catch (error) {
      last = error;
    }
    try {
      wait.check?.();
    } catch (error) {
      throw failure(`waited for ${wait.what}, but ${messageOf(error)}`, last, wait.log);
    }
    if (Date.now() >= deadline) throw failure(`waited ${wait.timeoutMs / 1000} s for ${wait.what}`, last, wait.log);
    await sleep(POLL_MS);
  }
}

/** The last lines of a file, or "" if there is none. */
export function tail(file: string, lines = 20): string {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return "";
  const handle = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(handle, buffer, 0, buffer.length, size - buffer.length);
    return buffer.toString().trimEnd().split("\n").slice(-lines).join("\n");
  } finally {
    closeSync(handle);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function failure(head: string, last: unknown, log: string | undefined): Error {
  const why = last === undefined ? "" : ` (last: ${messageOf(last)})`;
  const end = log === undefined ? "" : `\nThe end of ${log}:\n${tail(log)}`;
  return new Error(`${head}${why}${end}`, { cause: last });
}
