import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { FakeClock } from "../../../core/testing/fake-clock";
import { endingWith } from "./tools";

it("a clock ends with its session, and leaves it one listener however many timers there were", () => {
  const ending = new AbortController();
  const clock = new FakeClock();
  const bound = endingWith({ clock, ending: ending.signal });
  const fired: number[] = [];
  for (let i = 0; i < 20; i++) bound.after(i, () => fired.push(i));
  bound.after(3, () => fired.push(-1))();
  expect(getEventListeners(ending.signal, "abort")).toHaveLength(1);
  clock.advance(9);
  expect(fired).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  ending.abort();
  bound.after(1, () => fired.push(99));
  clock.advance(100);
  expect(fired).toHaveLength(10);
});
