import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Memories } from "./memories";

describe("the number of workloads of all objects", () => {
  it("is that of the last pass of each object that is known", () => {
    const key = fc.constantFrom("team/a", "team/b", "team/c");
    const step = fc.record({ key, what: fc.constantFrom("know", "count", "forget"), count: fc.nat(5) });
    fc.assert(
      fc.property(fc.array(step), steps => {
        const memories = new Memories();
        const expected = new Map<string, number>();
        for (const { key, what, count } of steps) {
          if (what === "know") {
            memories.of(key, [], () => undefined);
            if (!expected.has(key)) expected.set(key, 0);
          } else if (what === "count") {
            memories.countWorkloads(key, count);
            if (expected.has(key)) expected.set(key, count);
          } else {
            memories.forget(key);
            expected.delete(key);
          }
        }
        expect(memories.workloads).toBe([...expected.values()].reduce((sum, count) => sum + count, 0));
      }),
    );
  });
});
