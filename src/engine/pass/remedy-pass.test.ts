import { expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { observeAndPlan } from "./remedy-pass";
import { makeObject, RecordingLog } from "../testing/fakes";
import { makeDecision, makeEviction, makeReaders, makeRemedy } from "../testing/remedies";

it("does nothing with a value that only a later version knows, until a person acts, and says what it began before", async () => {
  const log = new RecordingLog();
  const remedy = makeRemedy(makeDecision({ intents: [makeEviction()] }), { whileSuspended: () => "A trial is open." });
  const object = makeObject("team/app", { tokenRestart: { evidence: ["Later"] } as never });
  const ports = { readers: makeReaders(new FakeClock()), log, pending: [] };
  const { plan, report } = await observeAndPlan(remedy, { ...object, mode: "Enforce" }, ports);
  const why = {
    reason: "ObserveFailed",
    message:
      'No action: found "Later" in tokenRestart.evidence[], expected Logs or ServiceAccountAge or SandboxEvents. This version of the operator does not know it: run one that does, or change the spec. A trial is open.',
  };
  expect(plan.items).toEqual([]);
  expect(await report(new Map())).toEqual({ status: "Unknown", ...why, stalled: why });
});
