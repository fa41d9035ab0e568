import { expect, it } from "vitest";
import { Latencies } from "../flood/latencies";
import type { Second } from "../flood/seconds";
import { LatencyPlot } from "./plot";

function second(index: number, ms?: number): Second {
  const latencies = new Latencies();
  if (ms !== undefined) latencies.add(ms);
  return { fromMs: 1_000 * index, toMs: 1_000 * (index + 1), answers: {}, latencies };
}

it("draws one bar per two seconds, scaled between the best and the worst latency, with the marks beside it", () => {
  const plot = new LatencyPlot();
  plot.mark(3_000, "the flood begins");
  const drawn = plot.draw([second(0, 1), second(1, 1), second(2, 1), second(3, 100), second(4), second(5)]);
  const rows = drawn.split("\n").map(row => ({ bar: row.replace(/[^█]/g, "").length, text: row }));
  expect(rows.map(({ bar }) => bar)).toEqual([1, 48, 0]);
  expect(rows.map(({ text }) => text.replace(/█+ */, ""))).toEqual([
    expect.stringMatching(/^ *-3 s +1\.0 ms$/),
    expect.stringMatching(/^ *-1 s +10\d\.\d ms {2}<- the flood begins$/),
    expect.stringMatching(/^ *1 s +no answer$/),
  ]);
});

it("draws bars for equal values, and nothing for no values", () => {
  expect(new LatencyPlot().draw([second(0, 5)])).toContain("█");
  expect(new LatencyPlot().draw([])).toBe("");
});
