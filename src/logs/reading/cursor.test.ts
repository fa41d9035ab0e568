import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runToEnd } from "../../core/slices";
import { firstCursor, followLife, MAX_READ_BYTES, nextRequest, takeChunk, type Cursor } from "./cursor";
import { container, FakeLogs, pod, stamp } from "../../remedies/token-restart/testing/fake-log";

const POD = { namespace: "team", name: "web" };
const START = Date.parse("2025-01-01T00:00:00Z");

/** Reads until there is nothing more; the lines without their time stamps. */
async function drain(logs: FakeLogs, from: Cursor, view = container()): Promise<[Cursor, string[], number]> {
  const lines: string[] = [];
  let gaps = 0;
  let cursor = followLife(from, view).cursor;
  for (let reads = 0; reads < 50; reads++) {
    const taken = runToEnd(takeChunk(cursor, view, await logs.answer(nextRequest(cursor, view, POD))));
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
      fc.asyncProperty(steps, fc.integer({ min: 200, max: 400 }), async (plan, limitBytes) => {
        const logs = new FakeLogs();
        logs.write(POD.name, "main");
        let life = 0;
        let us = 0;
        const view = (): ReturnType<typeof container> => container({ restartCount: life });
        let cursor: Cursor = { ...firstCursor(view(), START), limitBytes };
        const written: string[] = [];
        const read: string[] = [];
        const readOn = async (): Promise<void> => {
          const [next, lines, gaps] = await drain(logs, { ...cursor, limitBytes }, view());
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
      { numRuns: 300 },
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
    const first = runToEnd(takeChunk(firstCursor(view, START), view, { bytes: half, truncated: false }));
    expect(first.fresh.toString()).toBe(`${stamp(START)} whole\n`);
    const rest = Buffer.from(`${half.toString()}lf\n`);
    expect(runToEnd(takeChunk(first.cursor, view, { bytes: rest, truncated: false })).fresh.toString()).toContain(
      "half",
    );
  });

  it("takes the remaining lines once after a rotation", async () => {
    const logs = new FakeLogs();
    logs.write(POD.name, "main", { ms: START, text: "a" }, { ms: START + 1, text: "b" });
    const [cursor] = await drain(logs, firstCursor(container(), START));
    logs.lives.set(`${POD.name}/main`, [[{ ms: START + 3, text: "d" }]]);
    const [, lines] = await drain(logs, cursor);
    expect(lines).toEqual(["d"]);
  });

  it("reads timestamps in the node's time zone", () => {
    const view = container();
    const bytes = Buffer.from("2025-01-01T02:00:00.5+02:00 a\n2025-01-01T02:00:01+02:00 b\n");
    const { cursor } = runToEnd(takeChunk(firstCursor(view, START), view, { bytes, truncated: false }));
    expect(nextRequest(cursor, view, POD).sinceMs).toBe(START + 1000);
  });
});

describe("lives of a container", () => {
  it("starts with the previous life if that ended inside the window", () => {
    const restarted = container({ restartCount: 4, lastFinishedAtMs: START + 10 });
    expect(nextRequest(firstCursor(restarted, START), restarted, POD).previous).toBe(true);
    const longAgo = container({ restartCount: 4, lastFinishedAtMs: START - 10 });
    expect(nextRequest(firstCursor(longAgo, START), longAgo, POD).previous).toBe(false);
  });

  it("reads the only log of a container that waits for its restart", () => {
    const waiting = container({ restartCount: 4, running: false, lastFinishedAtMs: START + 10 });
    expect(nextRequest(firstCursor(waiting, START), waiting, POD).previous).toBe(false);
    expect(followLife(firstCursor(container(), START), waiting)).toMatchObject({ cursor: { life: 4 }, gap: true });
  });

  it("reports lives that were never read as a gap", () => {
    const cursor = firstCursor(container({ restartCount: 1 }), START);
    expect(followLife(cursor, container({ restartCount: 3 }))).toMatchObject({ cursor: { life: 2 }, gap: true });
    expect(followLife(cursor, container({ restartCount: 2 }))).toMatchObject({ cursor: { life: 1 }, gap: false });
  });

  it("continues with the current life when the log of the previous one is gone", () => {
    const view = container({ restartCount: 1 });
    const taken = runToEnd(takeChunk(firstCursor(container(), START), view, null));
    expect(taken).toMatchObject({ more: true, cursor: { life: 1 } });
    expect(pod().containers).toHaveLength(1);
  });
});
