import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSample } from "./metric-sample";

const read = (line: string) => {
  const sample = parseSample(line);
  return sample && { ...sample, labels: Object.fromEntries(sample.labels) };
};

describe("a line of Prometheus' text format", () => {
  it.each<[string, ReturnType<typeof read>]>([
    ["up 1", { name: "up", labels: {}, value: 1 }],
    ["up{} 1", { name: "up", labels: {}, value: 1 }],
    [
      "process_start_time_seconds 1.79527865775e+09",
      { name: "process_start_time_seconds", labels: {}, value: 1795278657.75 },
    ],
    ['a{b="c",d="e"} 1.234e+06', { name: "a", labels: { b: "c", d: "e" }, value: 1_234_000 }],
    [' a\t{ b = "c" , d="e", } \t+.5 1700000000000 ', { name: "a", labels: { b: "c", d: "e" }, value: 0.5 }],
    [String.raw`a{b="x\\y\"z\n}, c=\"1\""} -2`, { name: "a", labels: { b: 'x\\y"z\n}, c="1"' }, value: -2 }],
    ['a{b="{}, #"} NaN', { name: "a", labels: { b: "{}, #" }, value: NaN }],
    ['a{le="+Inf"} +Inf', { name: "a", labels: { le: "+Inf" }, value: Infinity }],
    ["a -Inf", { name: "a", labels: {}, value: -Infinity }],
  ])("%s", (line, sample) => {
    expect(read(line)).toEqual(sample);
  });

  it.each([
    "",
    "# HELP a One.",
    "# a 1",
    "a",
    "a 1 2 3",
    "a one",
    "a 0x10",
    "a.5",
    'a{b="c"}',
    'a{b="c} 1',
    'a{b="c"d="e"} 1',
    "a{,} 1",
    "a{b=c} 1",
    String.raw`a{b="\x"} 1`,
    '{"a.b",c="d"} 1',
    "1a 1",
    'a{b="c"} 1 # {trace="x"} 1',
  ])("is not a sample: %s", line => {
    expect(parseSample(line)).toBeNull();
  });

  const name = fc.stringMatching(/^[a-zA-Z_:][a-zA-Z0-9_:]{0,20}$/);
  const label = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,10}$/);
  const text = fc.string({ unit: "binary", maxLength: 20 });
  const labels = fc.uniqueArray(fc.tuple(label, text), { selector: ([key]) => key, maxLength: 5 });
  const escaped = (value: string) => value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");

  it("parses any label values in any order", () => {
    fc.assert(
      fc.property(name, labels, fc.double({ noDefaultInfinity: true, noNaN: true }), (metric, pairs, value) => {
        const written = pairs.map(([key, content]) => `${key}="${escaped(content)}"`).join(",");
        const sample = parseSample(`${metric}{${written}} ${value.toExponential()}`);
        expect(sample?.name).toBe(metric);
        expect([...(sample?.labels ?? [])]).toEqual(pairs);
        expect(sample?.value).toBe(Number(value.toExponential()));
      }),
    );
  });

  it("is parsed without an error in linear time, whatever its content", () => {
    const piece = fc.constantFrom("a", "{", "}", '"', "\\", ",", "=", " ", "1", "e", "n", "é");
    fc.assert(fc.property(fc.array(piece, { maxLength: 200 }), pieces => void parseSample(pieces.join(""))));
    const started = performance.now();
    for (const text of [
      "a{".padEnd(60_000, "b"),
      'a{b="'.padEnd(60_000, "\\n"),
      "a ".padEnd(60_000, " "),
      'a{b="'.padEnd(60_000, "c"),
    ])
      expect(parseSample(text)).toBeNull();
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
