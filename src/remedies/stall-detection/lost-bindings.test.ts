import { expect, it } from "vitest";
import { LostBindings } from "./lost-bindings";
import { binding } from "./testing/scene";

const MANY = 400;

it("remembers a bounded number of bindings that went, the latest", () => {
  const bindings = new LostBindings();
  const present = (round: number) =>
    Array.from({ length: MANY }, (_, i) => binding({ name: `x-${round}-${i}`, uid: `x-${round}-${i}` }));
  for (let round = 0; round < 50; round++) {
    bindings.follow(present(round), ["team/web"], round * 4_000);
    const lost = bindings.follow([], ["team/web"], round * 4_000 + 2_000);
    expect(lost).toHaveLength(64);
    expect(lost.every(({ atMs }) => atMs === round * 4_000 + 2_000)).toBe(true);
  }
  bindings.follow([binding()], ["team/web"], 300_000);
  expect(bindings.follow([], ["team/web"], 310_000).at(-1)).toMatchObject({ name: "web-rights", atMs: 310_000 });
});
