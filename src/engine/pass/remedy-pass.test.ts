import { expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { observeAndPlan } from "./remedy-pass";
import { makeObject, RecordingLog } from "../testing/fakes";
import { makeDecision, makeEviction, makeReaders, makeRemedy } from "../testing/remedies";

it("does nothing with a value that only a later version knows, until a person acts", async () => {
  const log = new RecordingLog();
  const remedy = makeRemedy(makeDecision({ intents: [makeEviction()] }));
  const object = makeObject("team/app", { tokenRestart: { evidence: ["Later"] } as never });
  const ports = { readers: makeReaders(new FakeClock()), log, pending: [] };
  const { plan, report } = await observeAndPlan(remedy, { ...object, mode: "Enforce" }, ports);
  const why = {
    reason: "ObserveFailed",
    message:
      'No action: found "Later" in tokenRestart.evidence[], expected Logs or ServiceAccountAge or SandboxEvents. This version of the operator does not know it: run one that does, or change the spec.',
  };
  expect(plan.items).toEqual([]);
  expect(await report(new Map())).toEqual({ status: "Unknown", ...why, stalled: why });
});

it("says of an object with such a value what a remedy began and does not go on with", async () => {
  const remedy = makeRemedy(makeDecision(), { whileSuspended: () => "A trial is open." });
  const object = makeObject("team/app", { tokenRestart: { evidence: ["Later"] } as never });
  const ports = { readers: makeReaders(new FakeClock()), log: new RecordingLog(), pending: [] };
  const { report } = await observeAndPlan(remedy, { ...object, mode: "Enforce" }, ports);
  expect((await report(new Map())).message).toMatch(/change the spec\. A trial is open\.$/);
});
