import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runToEnd } from "../../core/slices";
import type { ContainerView } from "../../core/views";
import { firstCursor, followLife, MAX_READ_BYTES, nextRequest, TAIL_LINES, takeChunk, type Cursor } from "./cursor";
import { toMs } from "./lines";
import { container, pod } from "../../core/testing/views";
import { FakeLogs, stamp } from "../testing/fake-logs";

const POD = { namespace: "team", name: "web" };
const START = Date.parse("2025-01-01T00:00:00Z");
/** Later than all lines: no clock is ahead. */
const LATER = START + 86_400_000;

/** Takes an answer, by default a whole one. */
function take(cursor: Cursor, view: ContainerView, bytes: Buffer | null, truncated = false) {
  return runToEnd(takeChunk(cursor, view, { chunk: bytes && { bytes, truncated }, nowMs: LATER }));
}

/** Reads until there is nothing more; the lines without their time stamps. */
async function drain(
  logs: FakeLogs,
  from: Cursor,
  { view = container(), nowMs = LATER }: { readonly view?: ContainerView; readonly nowMs?: number } = {},
): Promise<[Cursor, string[], number]> {
  const lines: string[] = [];
  let gaps = 0;
  let cursor = followLife(from, view).cursor;
  for (let reads = 0; reads < 50; reads++) {
    const taken = runToEnd(
      takeChunk(cursor, view, { chunk: await logs.answer(nextRequest(cursor, view, POD, nowMs)), nowMs }),
    );
    lines.push(
      ...taken.fresh
        .toString()
        .split("\n")
        .filter(Boolean)
        .map(line => line.slice(31)),
    );
    gaps += Number(taken.gap);
    cursor = taken.cursor;
    if (!taken.more) return [cursor, lines, gaps];
  }
  throw new Error("reading does not end");
}

describe("a cursor", () => {
  it("takes every line once wherever reads start and end, also lines of the same second or nanosecond", async () => {
    const steps = fc.array(
      fc.oneof(
        fc.record({ pauseUs: fc.constantFrom(0, 1, 400_000, 1_000_000), size: fc.integer({ min: 1, max: 60 }) }),
        fc.constantFrom("read", "restart"),
      ),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.integer({ min: 200, max: 400 }), fc.nat(4), async (plan, limitBytes, tailLines) => {
        const logs = new FakeLogs();
        logs.write(POD.name, "main");
        let life = 0;
        let us = 0;
        const view = (): ReturnType<typeof container> => container({ restartCount: life });
        let cursor: Cursor = { ...firstCursor(view(), START), limitBytes };
        const written: string[] = [];
        const read: string[] = [];
        const readOn = async (): Promise<void> => {
          const tail = cursor.lastNs === undefined ? 0 : tailLines;
          const [next, lines, gaps] = await drain(logs, { ...cursor, limitBytes, tailLines: tail }, { view: view() });
          cursor = next;
          read.push(...lines);
          expect(gaps).toBe(0);
        };
        for (const step of plan) {
          if (step === "read") await readOn();
          else if (step === "restart") {
            await readOn();
            logs.write(POD.name, "main", { ms: START + us / 1000, text: `last ${written.length}` });
            written.push(`last ${written.length}`);
            logs.restart(POD.name, "main");
            life++;
            us += 1_000_000;
          } else {
            us += step.pauseUs;
            const text = `${written.length} ${"x".repeat(step.size)}`;
            logs.write(POD.name, "main", { ms: START + us / 1000, text });
            written.push(text);
          }
        }
        await readOn();
        expect(read).toEqual(written);
      }),
      { numRuns: 1000 },
    );
  });

  it("takes no line twice, and all lines of the present, wherever the clock of the node is set ahead and back", async () => {
    const offsets = fc.constantFrom(0, 20_000, 60_000, 3_600_000, 172_800_000);
    const steps = fc.array(
      fc.oneof(
        fc.record({ aheadMs: offsets }),
        fc.record({ pauseMs: fc.constantFrom(1, 1_000, 40_000), lines: fc.integer({ min: 0, max: 4 }) }),
        fc.constant("read" as const),
      ),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async plan => {
        const logs = new FakeLogs();
        logs.write(POD.name, "main");
        let [nowMs, aheadMs, isSynced, expectedBefore] = [START, 0, false, 0];
        let cursor = firstCursor(container(), START);
        const [read, expected, written]: [string[], string[], string[]] = [[], [], []];
        const write = (): void => {
          const text = `line ${written.length}`;
          logs.write(POD.name, "main", { ms: nowMs + aheadMs, text });
          written.push(text);
          if (isSynced) expected.push(text);
        };
        for (const step of plan) {
          if (step === "read") {
            const [next, lines] = await drain(logs, cursor, { nowMs });
            cursor = next;
            read.push(...lines);
            // Later lines of the same clock are all read, unless the clock was ahead by little: then when its time has come.
            isSynced = aheadMs === 0 && toMs(cursor.lastNs ?? 0n) <= nowMs;
            expectedBefore = expected.length;
          } else if ("aheadMs" in step) {
            aheadMs = step.aheadMs;
            isSynced = false;
            // Which lines before the place where it is set back are new is unknown.
            expected.length = expectedBefore;
          } else {
            for (let i = 0; i < step.lines; i++, nowMs += step.pauseMs) write();
          }
        }
        const [, lines] = await drain(logs, cursor, { nowMs });
        read.push(...lines);
        expect(new Set(read).size).toBe(read.length);
        expect(read).toEqual(expect.arrayContaining(expected));
      }),
      { numRuns: 1_000 },
    );
  });

  it("requests more when one second exceeds the limit, and skips a second that exceeds the maximum", async () => {
    const logs = new FakeLogs();
    const text = "x".repeat(100_000);
    for (let i = 0; i < 60; i++) logs.write(POD.name, "main", { ms: START + i, text: `${i} ${text}` });
    logs.write(POD.name, "main", { ms: START + 5000, text: "after" });
    const [, lines, gaps] = await drain(logs, firstCursor(container(), START));
    expect(lines.at(-1)).toBe("after");
    expect(lines.length).toBeGreaterThan(30);
    expect(gaps).toBe(1);
    expect(Math.max(...logs.requests.map(request => request.limitBytes))).toBe(MAX_READ_BYTES);
  });

  it("leaves an incomplete line for the next read", () => {
    const view = container();
    const half = Buffer.from(`${stamp(START)} whole\n${stamp(START + 1)} ha`);
    const first = take(firstCursor(view, START), view, half);
    expect(first.fresh.toString()).toBe(`${stamp(START)} whole\n`);
    const rest = Buffer.from(`${half.toString()}lf\n`);
    expect(take(first.cursor, view, rest).fresh.toString()).toContain("half");
  });

  it("takes the remaining lines once after a rotation", async () => {
    const logs = new FakeLogs();
    logs.write(POD.name, "main", { ms: START, text: "a" }, { ms: START + 1, text: "b" });
    const [cursor] = await drain(logs, firstCursor(container(), START));
    logs.lives.set(`${POD.name}/main`, [[{ ms: START + 3, text: "d" }]]);
    const [, lines] = await drain(logs, cursor);
    expect(lines).toEqual(["d"]);
  });

  it("requests only the end of a log with few new lines", async () => {
    const logs = new FakeLogs();
    const tails = (): unknown => logs.requests.splice(0).map(({ tailLines }) => tailLines);
    let ms = START;
    const read = async (cursor: Cursor, count: number): Promise<[Cursor, number]> => {
      logs.write(POD.name, "main", ...Array.from({ length: count }, () => ({ ms: (ms += 1_500), text: "line" })));
      const [next, lines] = await drain(logs, cursor);
      return [next, lines.length];
    };
    const [first] = await read(firstCursor(container(), START), 600);
    expect(tails()).toEqual([undefined]);
    const [second, taken] = await read(first, 10);
    expect([taken, tails()]).toEqual([10, [undefined]]);
    const [third, more] = await read(second, 200);
    expect([more, tails()]).toEqual([200, [TAIL_LINES]]);
    // More lines than that: the first answer lacks some, and is not used.
    const [fourth, all] = await read(third, 700);
    expect([all, tails()]).toEqual([700, [TAIL_LINES, undefined]]);
    const [, none] = await read(fourth, 0);
    expect([none, tails()]).toEqual([0, [undefined]]);
  });

  it("does not use the end of a log without a line that it knows: long lines are pieces, which count as lines", () => {
    const view = container();
    const line = (ms: number): Buffer => Buffer.from(`${stamp(ms)} line\n`);
    const { cursor } = take(firstCursor(view, START), view, line(START));
    const again = { more: true, fresh: Buffer.alloc(0), cursor: { tailLines: 0 } };
    expect(take(cursor, view, line(START + 9))).toMatchObject(again);
    const all = take({ ...cursor, tailLines: 0 }, view, line(START + 9));
    expect(all).toMatchObject({ more: false, fresh: line(START + 9) });
  });

  it("does not use a cut end of a log that begins with the last timestamp: it may lack lines that have it as well", () => {
    const view = container();
    const lines = (count: number): Buffer => Buffer.from(`${stamp(START)} line\n`.repeat(count));
    const { cursor } = take(firstCursor(view, START), view, lines(1));
    // The fourth line from the end was not taken before; the answer ends after the second from the end.
    const again = { more: true, fresh: Buffer.alloc(0), cursor: { tailLines: 0 } };
    expect(take({ ...cursor, tailLines: 4 }, view, lines(3), true)).toMatchObject(again);
  });

  it("reads a log once that has lost its lines in a rotation and has no new ones", async () => {
    const logs = new FakeLogs();
    logs.write(POD.name, "main", { ms: START, text: "a" });
    const [cursor] = await drain(logs, firstCursor(container(), START));
    logs.lives.set(`${POD.name}/main`, [[]]);
    logs.requests.length = 0;
    await drain(logs, cursor);
    expect(logs.requests).toHaveLength(1);
  });

  it("reads timestamps in the node's time zone", () => {
    const view = container();
    const bytes = Buffer.from("2025-01-01T02:00:00.5+02:00 a\n2025-01-01T02:00:01+02:00 b\n");
    const { cursor } = take(firstCursor(view, START), view, bytes);
    const asked = nextRequest(cursor, view, { ...POD, nodeName: "n1" }, LATER);
    expect([asked.sinceMs, asked.node]).toEqual([START + 1000, "n1"]);
  });
});

describe("lives of a container", () => {
  it("starts with the previous life if that ended inside the window", () => {
    const restarted = container({ restartCount: 4, lastFinishedAtMs: START + 10 });
    expect(nextRequest(firstCursor(restarted, START), restarted, POD, LATER).previous).toBe(true);
    const longAgo = container({ restartCount: 4, lastFinishedAtMs: START - 10 });
    expect(nextRequest(firstCursor(longAgo, START), longAgo, POD, LATER).previous).toBe(false);
  });

  it("reads the only log of a container that waits for its restart", () => {
    const waiting = container({ restartCount: 4, running: false, lastFinishedAtMs: START + 10 });
    expect(nextRequest(firstCursor(waiting, START), waiting, POD, LATER).previous).toBe(false);
    expect(followLife(firstCursor(container(), START), waiting)).toMatchObject({ cursor: { life: 4 }, gap: true });
  });

  it("reports lives that were never read as a gap", () => {
    const cursor = firstCursor(container({ restartCount: 1 }), START);
    expect(followLife(cursor, container({ restartCount: 3 }))).toMatchObject({ cursor: { life: 2 }, gap: true });
    expect(followLife(cursor, container({ restartCount: 2 }))).toMatchObject({ cursor: { life: 1 }, gap: false });
  });

  it("continues with the current life when the log of the previous one is gone", () => {
    const view = container({ restartCount: 1 });
    expect(take(firstCursor(container(), START), view, null)).toMatchObject({ more: true, cursor: { life: 1 } });
    expect(pod().containers).toHaveLength(1);
  });
});
