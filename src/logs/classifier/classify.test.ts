import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ablate, labelledRecords } from "../../../scripts/classify-ablation";
import { classify } from "./classify";
import { scanRecords } from "./scan-log";

const RECORDS = labelledRecords();

/** The classes of the records of a log with this record in the middle. */
function classesIn(record: string): string[] {
  const found: string[] = [];
  scanRecords(Buffer.from(`all is well\n${record}\nall is well\n`), cls => found.push(cls));
  return found;
}

describe("the labelled records", () => {
  it.each([...new Set(RECORDS.map(({ label }) => label))])("%s", label => {
    const wrong = RECORDS.filter(record => record.label === label && classify(record.line) !== label);
    expect(wrong.map(({ family, line }) => `${family}: ${classify(line)}: ${line}`)).toEqual([]);
  });

  it("include innocents and every class", () => {
    const count = (label: string): number => RECORDS.filter(record => record.label === label).length;
    expect(count("none")).toBeGreaterThan(1_700);
    expect(count("unauthorized")).toBeGreaterThan(2_100);
  });

  it("are found in the middle of a log", () => {
    const own = RECORDS.filter(({ label, family }) => label === "unauthorized" && family.startsWith("reported"));
    expect(own.filter(({ line }) => classesIn(line).join(" ") !== "unauthorized")).toEqual([]);
  });

  it("accuse nobody in the middle of a log either, line by line as the kubelet stamps it", () => {
    const innocent = RECORDS.filter(({ label, line }) => label === "none" && /^(?!Reason: )[\w[{<"]/.test(line));
    const stamped = (line: string): string => line.replaceAll(/^/gm, "2024-03-01T09:12:44.113201599Z ");
    expect(innocent.filter(({ line }) => classesIn(stamped(line)).includes("unauthorized"))).toEqual([]);
  });
});

it("has no rule that decides fewer than two records", () => {
  const idle = Array.from(ablate(2)).filter(({ records }) => records.length < 2);
  expect(idle.map(({ rule }) => rule)).toEqual([]);
});

it("finds nothing in an empty record", () => expect(classify("")).toBe("none"));

/** Pieces that the classifier has rules for, so that random texts reach deep into it. */
const PIECES = [
  ...[
    "Unauthorized",
    "401",
    "403",
    "Forbidden",
    "failed to list *v1.Pod",
    ": ",
    "=",
    '"',
    "'",
    "\\",
    "{",
    "}",
    '{"',
    '":"',
    "\n",
    "\t",
  ],
  ...[
    "msg=",
    "error=",
    "https://",
    "https://10.96.0.1/api/v1/pods",
    "/apis/",
    "GET /",
    " HTTP/1.1",
    "\x1b[31m",
    "\x1b[",
    "(401)",
  ],
  ...[
    "Reason: ",
    "code: 401",
    "Failure",
    "the server has asked for the client to provide credentials",
    "vault",
    "\ud800",
    "\0",
    "İ",
  ],
  ...[
    "2024-03-01T09:12:44.113201599Z ",
    "stdout F ",
    "stdout P ",
    '{"log":"',
    '","stream":"stderr"}',
    "\\u001b[1m",
    "lease lock",
  ],
];
const anything = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map(parts => parts.join("")),
);

describe("any text", () => {
  it("has a class and makes nothing throw", () => {
    fc.assert(
      fc.property(anything, text => typeof classify(text) === "string"),
      { numRuns: 3000 },
    );
  });

  it("has the same class each time", () => {
    fc.assert(fc.property(anything, text => classify(text) === classify(text)));
  });

  it("handles endless nesting and repetition", () => {
    const deep = ['{"a":'.repeat(20_000), "[".repeat(100_000), '\\"'.repeat(100_000), "Unauthorized: ".repeat(50_000)];
    for (const text of deep) expect(classify(`${text} Unauthorized`)).toBeTypeOf("string");
  });
});
