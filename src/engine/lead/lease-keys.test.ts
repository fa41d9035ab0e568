import { describe, expect, it } from "vitest";
import { formatKeys, KeyMemory, rotationIn } from "../../core/signing-keys";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeElector } from "../testing/elector";
import { MemoryLease } from "../testing/fakes";
import { LeaseKeys } from "./lease-keys";

function makeCandidate(identity: string, store: MemoryLease, clock: FakeClock) {
  const memory = new KeyMemory();
  const elector = makeElector(identity, { store, clock }, new LeaseKeys(memory));
  return { memory, elector };
}

describe("the signing keys on the Lease", () => {
  it("reach the next leader, so that it knows of a rotation that cost the last one its identity", async () => {
    const [store, clock] = [new MemoryLease(), new FakeClock()];
    const first = makeCandidate("a", store, clock);
    first.elector.start();
    await clock.run(100);
    expect(store.record?.signingKeys).toBeUndefined();
    first.memory.take(["old"], clock.now().getTime());
    await clock.run(3_000);
    expect(store.record?.signingKeys).toBe(formatKeys(first.memory.history!));
    await first.elector.stop();

    const second = makeCandidate("b", store, clock);
    second.elector.start();
    await clock.run(20_000);
    expect(second.elector.isLeader()).toBe(true);
    second.memory.take(["new"], clock.now().getTime());
    const { readMs } = first.memory.history!;
    expect(rotationIn(second.memory.history)?.beforeMs).toBe(Math.floor(readMs / 1000) * 1000);
  });

  it("are written again after somebody has deleted the annotation or the Lease", async () => {
    const [store, clock] = [new MemoryLease(), new FakeClock()];
    const { memory, elector } = makeCandidate("a", store, clock);
    elector.start();
    await clock.run(100);
    memory.take(["old"], clock.now().getTime());
    await clock.run(3_000);
    const { signingKeys, ...record } = store.record!;
    expect(signingKeys).toBeDefined();
    store.put(record);
    await clock.run(10_000);
    expect(store.record?.signingKeys).toBe(signingKeys);
  });
});
