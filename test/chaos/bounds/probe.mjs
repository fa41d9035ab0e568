// Loaded into the operator's process (node --import) to measure it from within. SIGUSR2 prints what was seen since the last, as a log line.
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** Between two looks; a piece of work that is shorter is no concern. */
const LOOK_MS = 5;

/** How long this thread, which is the event loop's, was ready to run and had no processor to run on: other work's part of the time. */
function waitedMs() {
  const [, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "ascii").split(" ");
  return Number(waitedNs) / 1e6;
}

let longestOwnMs = 0;
let longestMs = 0;
let waited = waitedMs();
let atMs = performance.now();

setInterval(() => {
  const nowWaited = waitedMs();
  const nowMs = performance.now();
  const lateMs = nowMs - atMs - LOOK_MS;
  longestMs = Math.max(longestMs, lateMs);
  longestOwnMs = Math.max(longestOwnMs, lateMs - (nowWaited - waited));
  [waited, atMs] = [nowWaited, nowMs];
}, LOOK_MS).unref();

process.on("SIGUSR2", () => {
  process.stdout.write(`${JSON.stringify({ level: "info", msg: "longest turn", longestOwnMs, longestMs })}\n`);
  [longestOwnMs, longestMs] = [0, 0];
});
