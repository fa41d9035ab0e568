import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DelayHeap } from "./delay-heap";

describe("the delay heap", () => {
  it("returns keys in order of their earliest time, then of insertion, for any delays", () => {
    const entry = fc.record({ key: fc.nat(200), atMs: fc.nat(100) });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 400 }), entries => {
        const heap = new DelayHeap<number>();
        const expected = new Map<number, number>();
        for (const { key, atMs } of entries) {
          heap.schedule(key, atMs);
          expected.set(key, Math.min(atMs, expected.get(key) ?? Infinity));
        }
        expect(heap.size).toBe(expected.size);
        const order = [...expected].sort(([, a], [, b]) => a - b).map(([key]) => key);
        const taken: (number | undefined)[] = [];
        while (heap.size > 0) {
          expect(heap.nextAtMs).toBe(expected.get(order[taken.length]!));
          taken.push(heap.takeReady(100));
        }
        expect(taken).toEqual(order);
      }),
    );
  });

  it("returns no key before its time", () => {
    const heap = new DelayHeap<string>();
    heap.schedule("a", 10);
    expect([heap.takeReady(9), heap.takeReady(10), heap.takeReady(11), heap.nextAtMs]).toEqual([
      undefined,
      "a",
      undefined,
      undefined,
    ]);
  });
});
