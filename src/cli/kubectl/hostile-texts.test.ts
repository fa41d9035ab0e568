import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { KIND } from "../../api/names";
import { makeObject } from "../../core/testing/objects";
import { type Finding, formatReport, type Report } from "./audit/finding";
import { formatHtml } from "./audit/html";
import { eventFacts } from "./reader";
import { explain } from "./explain/explain";
import { formatExplanation } from "./explain/format";
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
  const texts = { kind: text, namespace: text, name: text, why: text, wayOut: text, command: text };
  const findings = (["critical", "notice"] as const).map(
    (severity): Finding => ({ ...texts, severity, check: "ExpiringBinding" }),
  );
  return { server: text, context: text, logs: false, time: text, namespace: text, findings, unread: [text] };
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

type Page = (look: Pick<Output, "paint" | "columns">) => string;

/** What is printed of a report, and of an explanation with such a status and such an Event. */
function pagesOf(text: string): Page[] {
  const report = reportOf(text);
  const event = eventFacts({
    ...{ reportingController: "controller-resilience", eventTime: "2026-01-01T00:00:00Z", type: text },
    ...{ reason: text, note: text, regarding: { kind: text, name: text, namespace: text, uid: "uid-of-app" } },
  });
  const condition = { type: "Ready", status: "False", reason: text, message: text, lastTransitionTime: text };
  const status = { conditions: [condition], stalls: [{ workload: text, since: text, denied: text }] };
  const explanation = explain({
    ...{ nowMs: 0, subject: { kind: KIND, namespace: "team", name: "app" } as const },
    ...{
      objects: [makeObject("team/app", {}, status as never)],
      events: event === null ? [] : [event],
      unread: [text],
      session: { command: (line: string) => line },
    },
  });
  return [look => formatReport(report, look), look => formatExplanation(explanation, { ...look, nowMs: 0 })];
}

it("have no characters on a terminal that it would obey", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, async text => {
      for (const page of pagesOf(text))
        expect((await printed((paint, columns) => page({ paint, columns }))).replaceAll("\n", "")).not.toMatch(OBEYED);
    }),
  );
});

it("leave the structure of the HTML page as it is, and have no characters in it that reorder or hide text", () => {
  const tagsOf = (html: string): readonly string[] => html.match(/<[^>]*>/g) ?? [];
  const expected = tagsOf(formatHtml(reportOf("x")));
  expect(expected.length).toBeGreaterThan(50);
  fc.assert(
    fc.property(hostile, text => {
      fc.pre(text !== "");
      const page = formatHtml(reportOf(text));
      expect(tagsOf(page)).toEqual(expected);
      expect(page.replaceAll("\n", "")).not.toMatch(OBEYED);
      expect(page.split("\n")).toHaveLength(formatHtml(reportOf("x")).split("\n").length);
    }),
  );
});

it("cannot add lines", () => {
  const paint = paintFor({ stdout: new PassThrough(), env: {} });
  const lines = (text: string): number[] =>
    pagesOf(text).map(page => page({ paint, columns: Infinity }).split("\n").length);
  const expected = lines("x");
  fc.assert(
    fc.property(hostile, text => {
      fc.pre(text.trim() !== "");
      expect(lines(text)).toEqual(expected);
    }),
  );
});
