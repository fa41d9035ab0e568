// Loaded into the operator's process (node --import) to measure it from within. SIGUSR2 prints what was seen since the last, as a log line.
import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** Between two looks; a piece of work that is shorter is no concern. */
const LOOK_MS = 5;

/** How long a thread was on a processor, and how long it was ready to run and had none: other work's part of the time. */
function scheduled(thread) {
  const [ranNs, waitedNs] = readFileSync(`/proc/self/task/${thread}/schedstat`, "ascii").split(" ");
  return { ranMs: Number(ranNs) / 1e6, waitedMs: Number(waitedNs) / 1e6 };
}

/** Of the event loop's thread, and of those that it waits for while they help it to collect garbage. */
function look() {
  const helpers = readdirSync("/proc/self/task").filter(thread => thread !== String(process.pid));
  return {
    atMs: performance.now(),
    own: scheduled(process.pid),
    helpers: new Map(helpers.map(thread => [thread, scheduled(thread).waitedMs])),
  };
}

/** How long the event loop was held up between two looks, and how much of that by this process: not what it, or a helper that it had to wait for, waited for a processor. */
function heldUp(before, now) {
  const ms = Math.max(0, now.atMs - before.atMs - LOOK_MS);
  const waitedMs = now.own.waitedMs - before.own.waitedMs;
  const ranMs = now.own.ranMs - before.own.ranMs;
  const helperMs = Math.max(0, ...[...now.helpers].map(([thread, at]) => at - (before.helpers.get(thread) ?? at)));
  return { ms, ownMs: ms - waitedMs - Math.min(Math.max(0, ms - waitedMs - ranMs), helperMs) };
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
