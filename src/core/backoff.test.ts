import { expect, it } from "vitest";
import { askedMs, backoffMs } from "./time";
import { TransientError, UnavailableError, WaitError } from "./errors";

it("doubles its bound from 0.8 s to 30 s", () => {
  const waits = Array.from({ length: 8 }, (_, failures) => backoffMs(failures, () => 1));
  expect(waits).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  expect(backoffMs(100_000, () => 1)).toBe(30_000);
});

it("is jittered over the whole range, but never zero", () => {
  expect([backoffMs(0, () => 0.25), backoffMs(0, () => 0)]).toEqual([200, 50]);
});

it("is no shorter than what the server asked for", () => {
  const asked = [new WaitError("429", 5_000), new UnavailableError("503", 1_000), new TransientError("reset")];
  expect(asked.map(error => backoffMs(1, () => 1, askedMs(error)))).toEqual([5_000, 1_600, 1_600]);
});
