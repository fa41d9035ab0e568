import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Finding, formatReport, formatWide, type Report } from "./audit/finding";
import { eventFacts } from "./reader";
import { formatTimeline } from "./explain/explain";
import { momentsOf } from "./explain/evidence";
import { paintFor, Output } from "./terminal";

// Names, annotations and Events are written by people who may be hostile to those who read a report.

const PIECES = [
  "\u001b[2J",
  "\u001b[31m",
  "\r",
  "\n",
  "\t",
  "\u009b",
  "\u202e",
  "\u2028",
  "\u0085",
  "\u0000",
  "</script>",
  "<img src=x ",
  '"',
  "'",
  "&lt;",
  "<!--",
  "]]>",
  "`",
  "# ",
  ": ",
  "- ",
  "---",
  "{",
  "}",
  "a",
];
const hostile = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map(pieces => pieces.join("")),
  fc.string({ unit: "binary", maxLength: 12 }),
);
const OBEYED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const reportOf = (text: string): Report => {
  const texts = { kind: text, namespace: text, name: text, why: text, wayOut: text };
  const findings = (["critical", "notice"] as const).map(
    (severity): Finding => ({ ...texts, severity, check: "ExpiringBinding" }),
  );
  return { server: text, time: text, namespace: text, findings, unread: [{ what: text, why: text, unknown: text }] };
};

/** Prints on a terminal with colours, and removes those of this program. */
async function printed(format: (paint: Output["paint"], columns: number) => string): Promise<string> {
  let text = "";
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  stdout.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
  const output = new Output({ stdin: new PassThrough(), stdout, stderr: new PassThrough(), env: {} });
  await output.text(format(output.paint, output.columns));
  await new Promise(resolve => setImmediate(resolve));
  return text.replaceAll(/\x1b\[(?:[012]|3[1236])m/g, "");
}

it("have no characters on a terminal that it would obey", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async text => {
      const report = reportOf(text);
      const event = eventFacts({
        ...{ reportingController: "controller-resilience", eventTime: "2026-01-01T00:00:00Z", type: text },
        ...{ reason: text, note: text, regarding: { kind: text, name: text, namespace: text } },
      });
      const moments = event === null ? [] : momentsOf([event]);
      for (const page of [
        await printed((paint, columns) => formatReport(report, { paint, columns })),
        await printed(paint => formatWide(report, paint)),
        await printed((paint, columns) => formatTimeline(moments, { paint, columns, nowMs: 0 }).join("\n")),
      ])
        expect(page.replaceAll("\n", "")).not.toMatch(OBEYED);
    }),
  );
});

it("cannot add lines to what an audit says", () => {
  const lines = (text: string): number[] => {
    const how = { paint: paintFor({ stdout: new PassThrough(), env: {} }), columns: Infinity };
    return [formatReport(reportOf(text), how), formatWide(reportOf(text), how.paint)].map(
      one => one.split("\n").length,
    );
  };
  const expected = lines("x");
  fc.assert(
    fc.property(hostile, text => {
      fc.pre(text !== "");
      expect(lines(text)).toEqual(expected);
    }),
  );
});

it("cannot add lines to what an Event says", () => {
  fc.assert(
    fc.property(hostile, text => {
      const event = eventFacts({
        ...{ reportingController: "controller-resilience", eventTime: "2026-01-01T00:00:00Z", reason: text },
      });
      const plain = paintFor({ stdout: new PassThrough(), env: {} });
      const moments = event === null ? [] : momentsOf([event]);
      expect(
        formatTimeline(moments, { paint: plain, columns: Infinity, nowMs: 0 }).join("\n").split("\n"),
      ).toHaveLength(3);
    }),
  );
});
