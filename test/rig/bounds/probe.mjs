// Loaded into the operator's process (node --import) to measure it from within. SIGUSR2 prints what was seen since the last, as a log line.
import { readFileSync } from "node:fs";
import { performance, PerformanceObserver } from "node:perf_hooks";

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

/** The longest turns since the last report; what is told of the first is when it was, too. */
let [longestOwnMs, longestMs, fromMs, toMs] = [0, 0, 0, 0];
let before = look();

/** Collections of garbage since the last report that took long enough to matter. */
let collections = [];
new PerformanceObserver(list => {
  collections.push(...list.getEntries().filter(({ duration }) => duration >= 1));
}).observe({ entryTypes: ["gc"] });

/** How much of the longest turn was collecting garbage, by the clock. */
function garbageMs() {
  const within = collections.filter(({ startTime }) => startTime >= fromMs && startTime <= toMs);
  return within.reduce((sum, { duration }) => sum + duration, 0);
}

setInterval(() => {
  const now = look();
  const { ms, ownMs } = heldUp(before, now);
  longestMs = Math.max(longestMs, ms);
  if (ownMs > longestOwnMs) [longestOwnMs, fromMs, toMs] = [ownMs, before.atMs, now.atMs];
  before = now;
}, LOOK_MS).unref();

process.on("SIGUSR2", () => {
  const turn = { longestOwnMs, longestMs, garbageMs: garbageMs() };
  process.stdout.write(`${JSON.stringify({ level: "info", msg: "longest turn", ...turn })}\n`);
  [longestOwnMs, longestMs, fromMs, toMs, collections] = [0, 0, 0, 0, []];
});
