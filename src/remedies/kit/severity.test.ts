import { expect, it } from "vitest";
import { worstFirst } from "./severity";

const REASONS = { Bad: { event: "Warning", help: "" }, Good: { event: "Normal", help: "" } } as const;

it("sorts by the declared order and keeps the order within one reason", () => {
  const findings = [
    { reason: "Good", id: 1 },
    { reason: "Bad", id: 2 },
    { reason: "Bad", id: 3 },
  ] as const;
  expect(worstFirst<"Good" | "Bad", (typeof findings)[number]>(REASONS, findings).map(({ id }) => id)).toEqual([
    2, 3, 1,
  ]);
});
