import { expect, it } from "vitest";
import { bounded, LIMIT_MIB, TURN_MS, valueOf } from "./gauge";

const FINDING = { fault: "noise", times: 6, promised: "quiet is heard", seen: "it was", failures: [] };
const WITHIN = { peakMiB: LIMIT_MIB, longestOwnMs: TURN_MS, longestMs: 1_000, garbageMs: 30, lagMs: 1_000 };

it("accepts a reading within the bounds, and ignores time spent waiting for a processor", () => {
  expect(bounded({ finding: FINDING, reading: WITHIN }).failures).toEqual([]);
});

it("reports each exceeded bound, and keeps earlier failures", () => {
  const beyond = { ...WITHIN, peakMiB: LIMIT_MIB + 1, longestOwnMs: TURN_MS + 1 };
  const { failures } = bounded({ finding: { ...FINDING, failures: ["not heard"] }, reading: beyond });
  expect(failures).toEqual(["not heard", "peak memory 257 MiB, limit 256 MiB", "a turn took 51 ms, limit 50 ms"]);
});

it("reads a metric as the sum of all its series, or of those with some labels", () => {
  const metrics = [
    "# TYPE queue_depth gauge",
    'queue_depth{state="waiting"} 12',
    'queue_depth{state="delayed"} 30',
    "queue_depth_limit 5",
    "lag_seconds 1.5e-2",
  ].join("\n");
  expect(valueOf(metrics, "queue_depth")).toBe(42);
  expect(valueOf(metrics, 'queue_depth\\{state="waiting"\\}')).toBe(12);
  expect(valueOf(metrics, "lag_seconds")).toBe(0.015);
  expect(valueOf(metrics, "none")).toBeUndefined();
});
