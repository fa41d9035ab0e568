import { expect, it } from "vitest";
import { BusyClock } from "../../core/testing/busy-clock";
import { FakeClock } from "../../core/testing/fake-clock";
import { each, type Steps } from "../../core/slices";
import type { Decision } from "../testing/fake-remedy";
import { observeAndPlan } from "./remedy-pass";
import { makeObject, RecordingLog } from "../testing/fakes";
import { makeDecision, makeEviction, makeReaders, makeRemedy, specWith } from "../testing/remedies";

const OBJECT = makeObject("team/app", specWith("tokenRestart"));

it("yields to the event loop while a remedy plans in steps", async () => {
  const clock = new BusyClock(new FakeClock());
  const remedy = makeRemedy(makeDecision({ message: "At once." }), {
    *decideInSteps(): Steps<Decision> {
      yield* each(Array.from({ length: 100 }), () => undefined);
      return makeDecision({ message: "In steps." });
    },
  });
  const readers = makeReaders(clock);
  const pass = await observeAndPlan(
    remedy,
    { ...OBJECT, mode: "Enforce" },
    { readers, log: new RecordingLog(), pending: [] },
  );
  const { message } = await pass.report(new Map());
  expect(message).toBe("In steps.");
  expect(clock.turns).toBeGreaterThanOrEqual(10);
});

it("reports a remedy that fails in the middle of its steps", async () => {
  const remedy = makeRemedy(makeDecision(), {
    *decideInSteps(): Steps<Decision> {
      yield;
      throw new Error("a bug");
    },
  });
  const readers = makeReaders(new FakeClock());
  const pass = await observeAndPlan(
    remedy,
    { ...OBJECT, mode: "Enforce" },
    { readers, log: new RecordingLog(), pending: [] },
  );
  expect(await pass.report(new Map())).toMatchObject({ status: "Unknown", reason: "DecideFailed" });
});

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
