import { expect, it } from "vitest";
import { summarize, type Second } from "./seconds";

function second(fromMs: number, count: number, latencyMs: number): Second {
  return { fromMs, toMs: fromMs + 1000, latenciesMs: Array.from({ length: count }, () => latencyMs) };
}

it("sums up the seconds that are completely within the span", () => {
  const seconds = [second(0, 1, 500), second(1000, 98, 2), second(2000, 2, 9), second(3000, 1, 500)];
  expect(summarize(seconds, 900, 3100)).toEqual({ perSecond: 50, p50Ms: 2, p99Ms: 9 });
});

it("is empty without seconds", () => {
  expect(summarize([], 0, 1000)).toEqual({ perSecond: 0, p50Ms: NaN, p99Ms: NaN });
});
