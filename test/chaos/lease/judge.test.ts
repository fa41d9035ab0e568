import { expect, it } from "vitest";
import { type SeenLoss, troubles } from "./judge";

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
  deeds: { "PATCH rolebindings": 1 },
  exitCode: undefined,
};

it("a loss is as promised, also where its Event could not be sent", () => {
  expect([troubles(good), troubles({ ...good, told: 0, lost: 1 })]).toEqual([[], []]);
});

it.each<[Partial<SeenLoss>, string]>([
  [{ stillLed: true }, "the metric said that it leads while another did"],
  [{ health: 500 }, "/healthz said 500"],
  [{ ready: 503 }, "/readyz said 503"],
  [{ exitCode: 1 }, "the process ended with 1"],
  [{ stoppedAtMs: 5_001 }, "it stopped 1 ms after another had begun"],
  [{ stoppedAtMs: NaN }, "it stopped NaN ms after another had begun"],
  [{ writes: ["PATCH daemonsets"] }, "without the lead it wrote: PATCH daemonsets"],
  [{ asked: 0 }, "it did not try to lead again"],
  [{ asked: 16 }, "it asked 16 times in 30 s"],
  [{ told: 0 }, "no Event tells of the loss"],
  [{ deeds: {} }, "what waited for it was done so often: {}"],
  [{ deeds: { "PATCH rolebindings": 2 } }, 'what waited for it was done so often: {"PATCH rolebindings":2}'],
])("what was not is told: %j", (seen, complaint) => {
  expect(troubles({ ...good, ...seen })).toEqual([complaint]);
});
