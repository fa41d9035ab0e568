import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Memories } from "./memories";

describe("the number of workloads of all objects", () => {
  it("is that of the last pass of each object that is not forgotten", () => {
    const key = fc.constantFrom("team/a", "team/b", "team/c");
    const step = fc.record({ key, count: fc.option(fc.nat(5), { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(step), steps => {
        const memories = new Memories();
        const expected = new Map<string, number>();
        for (const { key, count } of steps) {
          if (count === undefined) {
            memories.forget(key);
            expected.delete(key);
          } else {
            memories.countWorkloads(key, count);
            expected.set(key, count);
          }
        }
        expect(memories.workloads).toBe([...expected.values()].reduce((sum, count) => sum + count, 0));
      }),
    );
  });
});
