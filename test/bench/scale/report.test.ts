import { describe, expect, it } from "vitest";
import { renderChart } from "./chart";
import { FIGURES } from "./goals";
import { marked, number, type Report, renderReport, renderVerdict } from "./report";

const report: Report = {
  scene: "pods",
  size: "500/25",
  title: "500 pods in 25 objects",
  figures: [
    { name: FIGURES.logReads, value: 16.64 },
    { name: FIGURES.others, value: 56.2 },
    { name: FIGURES.rss, value: NaN },
    { name: FIGURES.peak, value: 180 },
  ],
  notes: ["requests per minute: 3 get pods"],
};

describe("a report", () => {
  it("has the goals and the old figures of its scene and size", () => {
    expect(marked(report)).toEqual([
      { name: FIGURES.logReads, value: 16.64, goal: 17, before: 16.9, isMet: true },
      { name: FIGURES.others, value: 56.2, goal: 1, before: 56, isMet: false },
      { name: FIGURES.rss, value: NaN, goal: 150, before: 208, isMet: false },
      { name: FIGURES.peak, value: 180 },
    ]);
    expect(
      marked({ ...report, size: "7/1" }).every(({ goal, before }) => goal === undefined && before === undefined),
    ).toBe(true);
  });

  it("is a table in which each missed goal stands out", () => {
    const text = renderReport(report);
    expect(text).toMatch(/log reads\/s +│ +16\.6 │ +<= 17 │ +16\.9 │ ok/);
    expect(text).toMatch(/other requests\/s +│ +56\.2 │ +<= 1 │ +56 │ MISSED/);
    expect(text).toMatch(/RSS, MiB +│ +unknown │ +<= 150 │ +208 │ MISSED/);
    expect(text.split("\n").at(-1)).toBe("  requests per minute: 3 get pods");
  });

  it("shows the range of several old figures", () => {
    const many = { ...report, size: "2000/50", figures: [{ name: FIGURES.logReads, value: 60 }] };
    expect(renderReport(many)).toMatch(/log reads\/s +│ +60 │ +<= 67 │ +47 to 69 │ ok/);
  });

  it("ends with the missed goals", () => {
    expect(renderVerdict([report]).split("\n")).toEqual([
      "1 of 3 goals met; missed:",
      "  500 pods in 25 objects: other requests/s 56.2, goal 1",
      "  500 pods in 25 objects: RSS, MiB unknown, goal 150",
    ]);
    expect(renderVerdict([])).toBe("0 of 0 goals met");
  });
});

describe("number", () => {
  it.each([
    [0.456, "0.46"],
    [3.25, "3.3"],
    [99.95, "100.0"],
    [123.4, "123"],
    [2, "2"],
    [NaN, "unknown"],
  ])("writes %s as %s", (value, text) => expect(number(value)).toBe(text));
});

describe("the chart", () => {
  it("has a bar for each value, the goal and the old figure, and no bar for an unknown value", () => {
    const svg = renderChart(
      [{ label: "pods 500/25", figures: marked(report) }],
      [FIGURES.others, FIGURES.rss],
      "a & b",
    );
    expect(svg.match(/<rect /g)).toHaveLength(2);
    expect(svg.match(/<line /g)).toHaveLength(1);
    expect(svg).toContain("56.2, goal 1, before 56");
    expect(svg).toContain("a &amp; b");
    expect(svg).not.toContain(FIGURES.rss);
    expect(svg).not.toContain("NaN");
  });
});
