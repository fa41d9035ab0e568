import { expect, it } from "vitest";
import { joinSentences } from "./finding";

it("a message tells of five, and says how many are left", () => {
  const join = (amount: number) =>
    joinSentences(
      Array.from({ length: amount }, (_, i) => `${i}.`),
      rest => `And ${rest} more.`,
    );
  expect(join(0)).toBe("");
  expect(join(5)).toBe("0. 1. 2. 3. 4.");
  expect(join(7)).toBe("0. 1. 2. 3. 4. And 2 more.");
});
