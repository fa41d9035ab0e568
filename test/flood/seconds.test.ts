import { expect, it } from "vitest";
import { Latencies } from "./latencies";
import { summarize, type Second } from "./seconds";

function second(fromMs: number, count: number, latencyMs: number): Second {
  const latencies = new Latencies();
  for (let i = 0; i < count; i++) latencies.add(latencyMs);
  return { fromMs, toMs: fromMs + 1000, latencies };
}

it("sums up the seconds that are completely within the span", () => {
  const seconds = [second(0, 1, 500), second(1000, 98, 2), second(2000, 2, 9), second(3000, 1, 500)];
  const { perSecond, p50Ms, p99Ms } = summarize(seconds, 900, 3100);
  expect(perSecond).toBe(50);
  expect(p50Ms / 2).toBeCloseTo(1, 1);
  expect(p99Ms / 9).toBeCloseTo(1, 1);
});

it("is empty without seconds", () => {
  expect(summarize([], 0, 1000)).toEqual({ perSecond: 0, p50Ms: NaN, p99Ms: NaN });
});
