import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import type { SandboxEventView } from "../core/views";
import { MAX_OCCASIONS } from "./persistence";
import { SandboxTraces } from "./sandboxes";

const T = Date.parse("2025-01-01T12:00:00Z");
const WINDOW = 900_000;

function event(over: Partial<SandboxEventView> = {}): SandboxEventView {
  return { namespace: "shop", name: "e", uid: "e", node: "n1", unauthorized: true, storedMs: T, count: 1, ...over };
}

let traces: SandboxTraces;
beforeEach(() => (traces = new SandboxTraces()));

/** Takes these Events so many seconds after T. */
const take = (second: number, ...events: SandboxEventView[]): void => traces.take(events, WINDOW, T + second * 1000);

const starts = (node = "n1"): number[] => traces.of(node).all.occasions.map(({ startMs }) => (startMs - T) / 1000);

describe("the traces of nodes", () => {
  it("have one failure per Event and growth, by node, however often Events are listed", () => {
    take(1, event(), event({ uid: "f", node: "n2" }));
    take(2, event(), event({ uid: "f", node: "n2" }));
    take(12, event({ count: 2, storedMs: T + 11_000 }), event({ uid: "g", storedMs: T + 11_500 }));
    take(13, event({ count: 2, storedMs: T + 11_000 }));
    expect(starts()).toEqual([0, 11]);
    expect(starts("n2")).toEqual([0]);
  });

  it("outlive deleted Events, but not the window", () => {
    take(0, event());
    take(10);
    expect(starts()).toEqual([0]);
    take(900);
    expect(traces.of("n1").all.occasions).toEqual([]);
    take(900, event({ uid: "old" }));
    expect(traces.of("n1").all.occasions).toEqual([]);
  });

  it("count an Event from the future, as its author may claim, as now, once", () => {
    for (let s = 0; s < 60; s += 10) take(s, event({ storedMs: T + 500_000 }));
    expect(starts()).toEqual([0]);
  });

  it("count Events after the operator's clock, which was a day ahead, is set back", () => {
    take(86_400);
    take(10);
    take(20, event({ storedMs: T + 15_000 }));
    expect(starts()).toEqual([15]);
  });

  it("follow a combined Event whose cause changes", () => {
    const at = (s: number, count: number, unauthorized: boolean): SandboxEventView =>
      event({ storedMs: T + s * 1000, count, unauthorized });
    take(0, at(0, 10, true));
    take(10, at(10, 11, false));
    take(20, at(20, 12, true));
    take(30, at(30, 13, false));
    expect(starts()).toEqual([0, 20]);
  });

  it("have one failure for a new Event and for each growth, whatever the amount", () => {
    take(0, event({ count: 500 }));
    take(10, event({ count: 9_000, storedMs: T + 10_000 }));
    take(20, event({ count: 8_000, storedMs: T + 20_000 }));
    expect(starts()).toEqual([0, 10]);
  });

  it("have only failures that were seen to happen", () => {
    const at = (second: number): SandboxEventView => event({ uid: `at ${second}`, storedMs: T + second * 1000 });
    take(0, at(-31), at(-29), at(0));
    take(10, at(-20), at(-31), at(6));
    take(20, at(-35), at(-31));
    expect(starts()).toEqual([-29, -20, 0, 6]);
  });

  it("have a failure that a broken watch brought late, at its own time", () => {
    const at = (second: number): SandboxEventView => event({ uid: `at ${second}`, storedMs: T + second * 1000 });
    for (const second of [0, 60, 120, 180]) take(second, at(0));
    take(190, at(0), at(70), at(-40));
    expect(starts()).toEqual([0, 70]);
    take(400, at(0), at(70));
    take(410, at(0), at(70), at(80));
    expect(starts()).toEqual([0, 70]);
  });

  it("count a rise since the last call, even if the API server does not say when it was", () => {
    take(0, event({ storedMs: T - 300_000 }));
    expect(starts()).toEqual([]);
    take(10, event({ storedMs: T - 300_000, count: 2 }));
    take(20, event({ storedMs: T - 300_000, count: 3 }));
    expect(starts()).toEqual([0, 10]);
  });

  it("keep namespaces apart", () => {
    take(5, event(), event({ uid: "f", namespace: "bank", storedMs: T + 4_000 }));
    expect(starts()).toEqual([0, 4]);
    const { byNamespace } = traces.of("n1");
    expect([...byNamespace].map(([name, { occasions }]) => [name, occasions.length])).toEqual([
      ["shop", 1],
      ["bank", 1],
    ]);
  });

  it("are the same whether Events are listed once or many times, in any order", () => {
    const events = fc.uniqueArray(
      fc.record({
        uid: fc.string({ minLength: 1, maxLength: 3 }),
        at: fc.integer({ min: -60, max: 0 }),
        count: fc.nat(300),
      }),
      { selector: ({ uid }) => uid, maxLength: 8 },
    );
    fc.assert(
      fc.property(events, fc.nat(5), (raw, times) => {
        const views = raw.map(one => event({ uid: one.uid, storedMs: T + one.at * 1000, count: one.count + 1 }));
        const [once, often] = [new SandboxTraces(), new SandboxTraces()];
        once.take(views, WINDOW, T);
        for (let i = 0; i <= times; i++) often.take(views.toReversed(), WINDOW, T + i);
        const { occasions } = once.of("n1").all;
        expect(often.of("n1")).toEqual(once.of("n1"));
        expect(occasions.length).toBeLessThanOrEqual(Math.min(MAX_OCCASIONS, views.length));
        expect(occasions.every(({ startMs }, i) => i === 0 || startMs >= (occasions[i - 1]?.startMs ?? 0))).toBe(true);
      }),
    );
  });
});
