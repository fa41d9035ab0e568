import { expect, it } from "vitest";
import { Executor } from "../../src/engine/write/executor";
import { ObjectSession } from "../../src/engine/object/object-session";
import { MemoryObjects, RecordingLog, RecordingMetrics, RecordingWriter } from "../../src/engine/testing/fakes";
import { intentsOf } from "../../src/core/testing/remedy-contract";
import { Scene } from "../../src/remedies/binding-renewal/testing/scene";
import { makeRestarts } from "../../src/restarts/testing/ledger";
import { EXPIRY } from "./rules";

it("a note that a tool takes away each time is written less and less often", async () => {
  const scene = new Scene();
  const { clock, remedy, object } = scene;
  const writer = new RecordingWriter();
  const executor = new Executor({ writer, clock, metrics: new RecordingMetrics() });
  const restarts = makeRestarts(clock).settle(new ObjectSession(object, new MemoryObjects(), clock));
  const scope = { object, mode: "Enforce", log: new RecordingLog(), restarts, mayWrite: () => true } as const;
  scene.bind({ annotations: { [EXPIRY.ownExpiresAt]: "2025-01-31T00:00:00Z" } });
  const times: number[] = [];
  for (let second = 0; second < 700; second += 10) {
    // Each pass finds the binding without its note, in a later version.
    scene.change({});
    const intents = intentsOf((await scene.plan()).plan);
    expect(intents).toMatchObject([{ eventReason: "BindingExpiryNoted" }]);
    if ((await executor.execute(remedy, intents[0]!, scope)).result === "Executed") times.push(second);
    await clock.run(10_000);
  }
  expect(times).toEqual([0, 10, 30, 70, 150, 310, 610]);
  expect(writer.written).toHaveLength(times.length);
});
