import { expect, it } from "vitest";
import { classify } from "./classify";
import { createFinder } from "../detector";
import { isFromOtherPod } from "./other-pod";
import { MAX_RECORD_BYTES } from "./scan-log";

// Work is counted, not timed: every function of a string that looks at characters adds the characters it looked at.

type Method = (this: string | unknown[], ...args: unknown[]) => unknown;
type Counted = readonly [owner: Record<string, Method>, name: string];
const ofStrings = ["indexOf", "lastIndexOf", "includes", "charCodeAt", "charAt", "startsWith", "endsWith"];
const ofArrays = ["filter", "find", "findLast"];
const arrayNames = new Set(ofArrays);
const COUNTED: readonly Counted[] = [
  ...ofStrings.map((name): Counted => [String.prototype as unknown as Record<string, Method>, name]),
  ...ofArrays.map((name): Counted => [Array.prototype as unknown as Record<string, Method>, name]),
];

/** Classifies and attributes a record. */
function judge(record: string): void {
  classify(record);
  isFromOtherPod(record, { namespace: "shop", name: "web-1" });
}

/** Characters and findings that `use` looks at in these records. */
function workOf(records: readonly string[], use = judge): number {
  let work = 0;
  const originals = COUNTED.map(([owner, name]) => ({ owner, name, original: owner[name]! }));
  for (const { owner, name, original } of originals) {
    owner[name] = function (...args) {
      const result = original.apply(this, args);
      work += arrayNames.has(name) ? this.length : looked(name, this.length, args, result);
      return result;
    };
  }
  try {
    records.forEach(record => use(record));
  } finally {
    for (const { owner, name, original } of originals) owner[name] = original;
  }
  return work;
}

/** From the start of a search to its hit, or to the end of the text; one for a single character. */
function looked(name: string, length: number, args: readonly unknown[], result: unknown): number {
  const from = typeof args[1] === "number" ? args[1] : 0;
  if (name === "indexOf") return 1 + (result === -1 ? length - from : Number(result) - from);
  if (name === "lastIndexOf") return 1 + (typeof args[1] === "number" ? args[1] : length) - Math.max(0, Number(result));
  return name === "includes" ? 1 + length : 1;
}

const KILO = 1000;
const MEGA = 100 * KILO;

/** Texts that make careless code look again and again at what it has already seen. */
const UNITS: Readonly<Record<string, string>> = {
  answers: "Unauthorized: ",
  "explained answers": "vault Unauthorized: no ",
  "status lines": "HTTP/1.1 401 Unauthorized ",
  "Status objects": "code: 401, ",
  "request lines": "GET /x HTTP/1.1 ",
  "urllib3's lines": 'https://h "GET /x HTTP/1.1" 401 ',
  callers: "GET /x from 192.0.2.7 ",
  "callers without an address": " for 1",
  "unbelieved fields": "unauthorized user=x ",
  participles: "is rejecting x ",
  "terse statuses": "get pods 401 ",
  explanations: "token expired ",
  suppositions: "if 401 Unauthorized ",
  kinds: "image informer ",
  "opening braces": '{"',
  objects: '{"error":"401"} ',
  bodies: 'body: "Unauthorized" ',
  "objects that are bodies": '{"type":"error","code":"Unauthorized"} ',
  "broken objects": '{"error":"401} ',
  quotes: '"',
  pairs: 'err="401" ',
  "bare pairs": "err=401 ",
  "equals signs": "=",
  "open pairs": 'err="',
  backslashes: "\\",
  escapes: '\\"401',
  colours: "\x1b[31m401",
  "unfinished colours": "\x1b[1;1;1",
  tabs: "401\t",
  lines: "401\n",
  timestamps: "2024-03-01T09:12:44Z ",
  paths: "/apis/a/v1",
  "one word": "a",
};

it.each(Object.entries(UNITS))("the time is linear in the length of a record %s", (_, unit) => {
  const tail = " 401 vault Unauthorized: no";
  const fill = (length: number): string => unit.repeat(Math.ceil(length / unit.length)).slice(0, length) + tail;
  const one = workOf([fill(MEGA)]);
  const many = workOf(Array.from({ length: MEGA / KILO }, () => fill(KILO)));
  // A long record may cost the same as the short ones together; a quadratic walk would cost a hundred times as much.
  expect(one).toBeLessThan(many * 3);
});

it("extraPhrases look at each character of a record once per phrase", () => {
  const phrases = Array.from({ length: 16 }, (_, i) => `${"a".repeat(250)}${i}`);
  const { isUnauthorized } = createFinder(phrases);
  for (const length of [MAX_RECORD_BYTES, MAX_RECORD_BYTES / 2, KILO]) {
    const record = "a".repeat(length);
    const byClass = workOf([record], one => void classify(one));
    const work = workOf([record], one => void isUnauthorized(one)) - byClass;
    expect(work).toBeGreaterThan(phrases.length * length);
    // Once more to remove the runtime's prefix and colors.
    expect(work).toBeLessThan((phrases.length + 3) * length);
  }
});
