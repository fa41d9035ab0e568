// Loaded into the operator's process (node --import) to measure it from within. SIGUSR2 prints what was seen since the last, as a log line.
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** Between two looks; a piece of work that is shorter is no concern. */
const LOOK_MS = 5;

/** How long this thread, which is the event loop's, was on a processor, and how long it was ready to run and had none. */
function look() {
  const [ranNs, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "ascii").split(" ");
  return { atMs: performance.now(), ranMs: Number(ranNs) / 1e6, waitedMs: Number(waitedNs) / 1e6 };
}

/**
 * How long the event loop was held up between two looks, and how much of that by its own work, on a processor. Not what it waited for one,
 * nor what the threads that help it to collect garbage did: how long that takes is other work's doing where there are more threads than processors.
 */
function heldUp(before, now) {
  const ms = Math.max(0, now.atMs - before.atMs - LOOK_MS);
  return { ms, ownMs: Math.min(ms - (now.waitedMs - before.waitedMs), now.ranMs - before.ranMs) };
}

let longestOwnMs = 0;
let longestMs = 0;
let before = look();

setInterval(() => {
  const now = look();
  const { ms, ownMs } = heldUp(before, now);
  longestMs = Math.max(longestMs, ms);
  longestOwnMs = Math.max(longestOwnMs, ownMs);
  before = now;
}, LOOK_MS).unref();

process.on("SIGUSR2", () => {
  process.stdout.write(`${JSON.stringify({ level: "info", msg: "longest turn", longestOwnMs, longestMs })}\n`);
  [longestOwnMs, longestMs] = [0, 0];
});
