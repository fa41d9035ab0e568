import { expect, it } from "vitest";
import { weigh } from "../../scripts/weigh";

it.each(weigh())("keeps the budget of $name: $found of $budget", ({ found, budget }) => {
  expect(found).toBeLessThanOrEqual(budget);
});
