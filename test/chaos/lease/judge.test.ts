import { expect, it } from "vitest";
import { type SeenLoss, brokenPromises } from "./judge";

const good: SeenLoss = {
  stillLed: false,
  health: 200,
  ready: 200,
  stoppedAtMs: 1_000,
  rivalAtMs: 5_000,
  writes: [],
  asked: 2,
  seconds: 30,
  leastSecondsBetween: 2,
  told: 1,
  lost: 0,
  actions: { "PATCH rolebindings": 1 },
  exitCode: undefined,
};

it("accepts a correct loss of the lead, also if its Event could not be sent", () => {
  expect([brokenPromises(good), brokenPromises({ ...good, told: 0, lost: 1 })]).toEqual([[], []]);
});

it.each<[Partial<SeenLoss>, string]>([
  [{ stillLed: true }, "the metric reported leading while another replica led"],
  [{ health: 500 }, "/healthz said 500"],
  [{ ready: 503 }, "/readyz said 503"],
  [{ exitCode: 1 }, "the process ended with 1"],
  [{ stoppedAtMs: 5_001 }, "it stopped 1 ms after another began to lead"],
  [{ stoppedAtMs: NaN }, "it stopped NaN ms after another began to lead"],
  [{ writes: ["PATCH daemonsets"] }, "writes without the lead: PATCH daemonsets"],
  [{ asked: 0 }, "it did not try to lead again"],
  [{ asked: 16 }, "16 requests for the Lease in 30 s"],
  [{ told: 0 }, "no Event reports the loss"],
  [{ actions: {} }, "actions after it led again: {}"],
  [{ actions: { "PATCH rolebindings": 2 } }, 'actions after it led again: {"PATCH rolebindings":2}'],
])("reports what is wrong: %j", (seen, complaint) => {
  expect(brokenPromises({ ...good, ...seen })).toEqual([complaint]);
});
