import { expect, it } from "vitest";
import { BusyClock } from "../../core/testing/busy-clock";
import { FakeClock } from "../../core/testing/fake-clock";
import { each, type Steps } from "../../core/slices";
import type { Decision } from "../testing/fake-remedy";
import { observeAndPlan } from "./remedy-pass";
import { makeObject, RecordingLog } from "../testing/fakes";
import { makeDecision, makeReaders, makeRemedy, specWith } from "../testing/remedies";

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
