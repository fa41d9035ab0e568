import { expect, it } from "vitest";
import { cpuSecondsIn, mibIn, Usage } from "./usage";

it("reads user and system time behind a name with spaces and parentheses", () => {
  const stat = "4242 (node (a) b) S 1 4242 4242 0 -1 4194304 9 0 0 0 1234 66 7 8 20 0 11 0 99 1000 200";
  expect(cpuSecondsIn(stat)).toBe(13);
});

it("reads memory in MiB", () => {
  const status = "Name:\tnode\nVmHWM:\t  204800 kB\nVmRSS:\t  102400 kB\n";
  expect(mibIn(status, "VmRSS")).toBe(100);
  expect(mibIn(status, "VmHWM")).toBe(200);
  expect(mibIn(status, "VmSwap")).toBeNaN();
});

it("measures a process since the beginning", () => {
  const usage = new Usage(process.pid);
  // Processor time, not time: on a busy machine the process may wait meanwhile.
  for (const before = process.cpuUsage(); process.cpuUsage(before).user < 60_000; );
  const { cpuSeconds, rssMiB, peakMiB } = usage.used();
  expect(cpuSeconds).toBeGreaterThan(0);
  expect(cpuSeconds).toBeLessThanOrEqual(Usage.cpuSecondsOf(process.pid));
  expect(peakMiB).toBeGreaterThanOrEqual(rssMiB);
});
