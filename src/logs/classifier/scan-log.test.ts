import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { classify } from "./classify";
import { MAX_RECORD_BYTES, MAX_RECORD_LINES, recordEnd, scanRecords, WholeRecords } from "./scan-log";

interface Found {
  readonly cls: string;
  readonly text: string;
  readonly at: number;
}

function scan(log: Buffer): Found[] {
  const found: Found[] = [];
  scanRecords(log, (cls, start, end) => found.push({ cls, text: log.toString("utf8", start, end), at: start }));
  return found;
}

function stream(log: Buffer, cuts: readonly number[]): Found[] {
  const records = new WholeRecords();
  const places = [0, ...[...cuts].sort((a, b) => a - b), log.length];
  const parts = [...places.slice(1).map((to, i) => records.push(log.subarray(places[i], to))), records.end()];
  let offset = 0;
  return parts.flatMap(part => {
    const found = scan(part).map(one => ({ ...one, at: offset + one.at }));
    offset += part.length;
    return found;
  });
}

/** The slow way: take every record in turn and classify it. */
function everyRecord(log: Buffer): Found[] {
  const found: Found[] = [];
  for (let start = 0; start < log.length; ) {
    const end = recordEnd(log, start);
    const text = log.toString("utf8", start, end);
    const cls = classify(text.endsWith("\n") ? text.slice(0, -1) : text);
    if (cls !== "none") found.push({ cls, text, at: start });
    start = end;
  }
  return found;
}

const fixtures = readFileSync(join(__dirname, "../../../test/fixtures/log-records.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map(line => (JSON.parse(line) as { line: string }).line);

const stamp = (record: string, i: number): string =>
  record
    .split("\n")
    .map(line => `2024-03-01T09:${String(10 + (i % 50))}:44.113201599Z ${line}`)
    .join("\n");

it("finds nothing in the rest of a record whose beginning was not read", () => {
  const record = "kubernetes.client.exceptions.ApiException: (401)\nReason: Unauthorized\n";
  expect(scan(Buffer.from(record))).toHaveLength(1);
  expect(scan(Buffer.from(record.slice(record.indexOf("Reason"))))).toEqual([]);
});

describe("the scanner finds what the classifier finds", () => {
  it("in all labeled records, one after another", () => {
    const log = Buffer.from(fixtures.map(stamp).join("\n"));
    expect(scan(log)).toEqual(everyRecord(log));
    expect(scan(log).length).toBeGreaterThan(2000);
  });

  it("in any records, with chunks cut anywhere", () => {
    const logs = fc
      .array(fc.oneof(fc.constantFrom(...fixtures), fc.string({ unit: "binary", maxLength: 40 })), { maxLength: 30 })
      .map(records => Buffer.from(records.join("\n")));
    const cuts = fc.array(fc.nat(6000), { maxLength: 8 });
    fc.assert(
      fc.property(logs, cuts, (log, at) => {
        const expected = everyRecord(log);
        expect(scan(log)).toEqual(expected);
        expect(
          stream(
            log,
            at.map(cut => Math.min(cut, log.length)),
          ),
        ).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it("in records longer than the limit", () => {
    const long = `${"x".repeat(MAX_RECORD_BYTES * 2)} Unauthorized`;
    const tall = `a\n${" b\n".repeat(MAX_RECORD_LINES * 3)} error: Unauthorized`;
    const log = Buffer.from(`level=error msg=Unauthorized\n${long}\n${tall}\nlevel=error msg=Unauthorized\n`);
    const cuts = Array.from({ length: 40 }, (_, i) => i * 5000).filter(cut => cut < log.length);
    expect(scan(log)).toEqual(everyRecord(log));
    expect(stream(log, cuts)).toEqual(everyRecord(log));
  });

  it.each(["TOK", "Reason", "HTTP resp", "Trace", "2025-0123T x"])(
    "in a text that ends in the middle of a phrase: %s",
    end => {
      const stamp = "2025-01-01T00:00:00Z ";
      const record = `${stamp}Failed to watch *v1.Pod: Unauthorized`;
      expect(scan(Buffer.from(`${record}\n${stamp}${end}`))[0]?.cls).toBe("unauthorized");
      expect(scan(Buffer.from(`${record}\n${end}`))[0]?.cls).toBe("unauthorized");
    },
  );

  it("at the very first and the very last byte", () => {
    for (const log of [
      "Unauthorized",
      "401 Client Error: Unauthorized for url: https://10.96.0.1/api/v1/pods",
      "x: Unauthorized",
    ]) {
      expect(scan(Buffer.from(log)).map(f => f.cls)).toEqual(["unauthorized"]);
    }
  });
});

const T = "2024-03-01T09:12:44.113201599Z";

/** How many records a log has, by the sentence that says why. */
const JOINED: Readonly<Record<string, [number, string]>> = {
  "each line for itself": [2, `${T} one\n${T} two\n`],
  "a Python traceback with the line that announces it": [
    1,
    `${T} [ERROR] watch failed\n${T} Traceback (most recent call last):\n${T}   File "a.py", line 1, in b\n${T}     c()\n${T} kubernetes.client.exceptions.ApiException: (401)\n${T} Reason: Unauthorized\n${T} HTTP response headers: {}\n${T} \n`,
  ],
  "a Java exception with its causes": [
    1,
    `${T} ERROR cannot list\n${T} java.lang.RuntimeException: no\n${T} \tat a.B.c(B.java:1)\n${T} Caused by: io.kubernetes.client.openapi.ApiException: Unauthorized\n${T} \t... 3 more\n`,
  ],
  "pretty JSON": [1, `${T} {\n${T}   "error": "Unauthorized"\n${T} }\n`],
  "an object of Node": [1, `${T} Error: Unauthorized\n${T}     at a (b.js:1:1) {\n${T}   statusCode: 401\n${T} }\n`],
  "two objects": [2, `${T} {\n${T}   "a": 1\n${T} }\n${T} {\n${T}   "a": 2\n${T} }\n`],
  "a traceback that begins as another day does": [
    1,
    `2024-03-01T23:59:59.999Z [ERROR] watch failed\n2024-03-02T00:00:00.001Z Traceback (most recent call last):\n2024-03-02T00:00:00.001Z   File "a.py", line 1, in b\n2024-03-02T00:00:00.002Z kubernetes.client.exceptions.ApiException: (401)\n`,
  ],
  "an exception a second later is another record": [
    2,
    `2024-03-01T09:12:44.113Z synced with vault\n2024-03-01T09:12:45.113Z kopf.LoginError: Ran out of valid credentials.\n`,
  ],
  "an exception a day later is another record": [
    2,
    `2024-03-01T09:12:44.113Z synced with vault\n2024-03-02T09:12:44.113Z kopf.LoginError: Ran out of valid credentials.\n`,
  ],
  "an exception a minute later is another record": [
    2,
    `${T} synced with vault\n2024-03-01T09:13:44.113201599Z kopf.LoginError: Ran out of valid credentials.\n`,
  ],
  "an exception behind an access line is another record": [
    2,
    `${T} 10.0.0.9 "GET / HTTP/1.1" 200\n${T} Traceback (most recent call last):\n${T}   File "a.py", line 1, in b\n`,
  ],
  "levels that are aligned behind a time are no indentation": [
    2,
    `2024-03-01T09:12:44.113201Z  INFO a: one\n2024-03-01T09:12:44.113201Z  WARN a: two\n`,
  ],
};

it.each(Object.entries(JOINED))("lines that belong together %s", (_, [records, text]) => {
  const log = Buffer.from(text);
  let count = 0;
  for (let start = 0; start < log.length; start = recordEnd(log, start)) count++;
  expect(count).toBe(records);
});
