import { setTimeout as sleep } from "node:timers/promises";

export type Print = (line: string) => void;

/** Time between two lines about the same wait, in milliseconds. */
const TELL_MS = 10_000;

export interface Wait {
  /** Such as "2000 pods to be Ready". */
  readonly what: string;
  readonly limitMs: number;
  readonly everyMs?: number;
  /** Returns true at the end, or how far it is. A failure is retried. */
  readonly look: () => Promise<true | string>;
}

/** Polls until the end of something, with a line now and then; throws after the limit. Returns how long it took, in milliseconds. */
export async function waitUntil({ what, limitMs, everyMs = 500, look }: Wait, print: Print): Promise<number> {
  const startMs = performance.now();
  let toldMs = startMs;
  for (;;) {
    const seen = await look().catch((error: unknown) => String(error));
    const nowMs = performance.now();
    if (seen === true) return nowMs - startMs;
    if (nowMs - startMs > limitMs) throw new Error(`waited ${limitMs / 1000} s for ${what}: ${seen}`);
    if (nowMs - toldMs > TELL_MS) {
      toldMs = nowMs;
      print(`waiting for ${what}: ${seen}`);
    }
    await sleep(everyMs);
  }
}

/** Waits this long, with a line now and then. */
export async function pass(what: string, seconds: number, print: Print): Promise<void> {
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  for (let left = endMs - performance.now(); left > 0; left = endMs - performance.now()) {
    await sleep(Math.min(left, TELL_MS));
    const passed = Math.round((performance.now() - startMs) / 1000);
    if (passed < seconds) print(`${what}: ${passed} of ${Math.round(seconds)} s`);
  }
}
