// Loaded into the operator's process (node --import) to measure it from within. SIGUSR2 prints what was seen since the last, as a log line.
import { performance } from "node:perf_hooks";

/** Between two looks at the processor time; a piece of work that is shorter is no concern. */
const LOOK_MS = 5;

let longestCpuMs = 0;
let longestMs = 0;
let cpu = process.cpuUsage();
let atMs = performance.now();

setInterval(() => {
  const now = process.cpuUsage();
  const nowMs = performance.now();
  // All threads count, the garbage collector's among them: no less than what the event loop had to wait for.
  longestCpuMs = Math.max(longestCpuMs, (now.user + now.system - cpu.user - cpu.system) / 1000);
  longestMs = Math.max(longestMs, nowMs - atMs - LOOK_MS);
  [cpu, atMs] = [now, nowMs];
}, LOOK_MS).unref();

process.on("SIGUSR2", () => {
  process.stdout.write(`${JSON.stringify({ level: "info", msg: "longest turn", longestCpuMs, longestMs })}\n`);
  [longestCpuMs, longestMs] = [0, 0];
});
