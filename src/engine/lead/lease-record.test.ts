import { describe, expect, it } from "vitest";
import { BREAKER_ANNOTATION, BREAKER_RESET_ANNOTATION, KEYS_ANNOTATION } from "../../api/names";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeCandidate } from "../testing/elector";
import { MemoryLease } from "../testing/fakes";
import { LeaseBreaker, leaseKeys } from "./lease-record";
import { formatKeys, KeyMemory, rotationIn } from "../../core/signing-keys";

/** A leader, the breaker on its Lease, and other candidates. */
async function leading() {
  const [clock, store] = [new FakeClock(), new MemoryLease()];
  const makeOther = (identity: string) => {
    const changes: (string | null)[] = [];
    const breaker = new LeaseBreaker(clock, why => void changes.push(why));
    return { breaker, changes, ...makeCandidate(identity, { store, clock }, { annotations: [breaker] }) };
  };
  const leader = makeOther("a");
  leader.elector.start();
  await clock.run(100);
  expect(leader.elector.isLeader()).toBe(true);
  return { clock, store, makeOther, ...leader };
}

function annotation(store: MemoryLease, name = BREAKER_ANNOTATION): string | undefined {
  return store.record?.annotations?.[name];
}

/** What `kubectl annotate lease ... breaker-` does. */
function reset(store: MemoryLease): void {
  const { annotations: { [BREAKER_ANNOTATION]: breaker, ...annotations } = {}, ...record } = store.record!;
  expect(breaker).toBeDefined();
  store.put({ ...record, annotations });
}

describe("the breaker on the Lease", () => {
  it("is tripped at once, and written with the next renewal", async () => {
    const { clock, store, breaker, changes, elector } = await leading();
    expect(breaker.state).toBeNull();
    breaker.trip("why");
    breaker.trip("why else");
    expect([breaker.state, annotation(store)]).toEqual(["why", undefined]);
    await clock.run(10_100);
    expect([breaker.state, annotation(store), elector.isLeader()]).toEqual(["why", "why", true]);
    await clock.run(60_000);
    expect([annotation(store), changes]).toEqual(["why", ["why"]]);
  });

  it("is reset when a person removes the annotation, within one renewal", async () => {
    const { clock, store, breaker, changes, elector } = await leading();
    breaker.trip("why");
    await clock.run(11_000);
    expect(breaker.resetMs).toBe(-Infinity);
    reset(store);
    const resetMs = clock.now().getTime();
    await clock.run(10_100);
    expect([breaker.state, annotation(store), elector.isLeader()]).toEqual([null, undefined, true]);
    expect(breaker.resetMs).toBeGreaterThanOrEqual(resetMs);
    expect(changes).toEqual(["why", null]);
  });

  it("is kept by the next leader, which also knows when it was reset", async () => {
    const { clock, store, breaker, elector, makeOther } = await leading();
    const second = makeOther("b");
    second.elector.start();
    breaker.trip("why");
    await clock.run(18_000);
    expect(second.breaker.state).toBe("why");
    await elector.stop();
    await clock.run(11_000);
    expect([second.elector.isLeader(), second.breaker.state, annotation(store)]).toEqual([true, "why", "why"]);
    reset(store);
    await clock.run(11_000);
    expect([second.breaker.state, second.breaker.resetMs > 0, annotation(store)]).toEqual([null, true, undefined]);
  });

  it("was reset for the next process as well, which has never seen it tripped", async () => {
    const { clock, store, breaker, elector, makeOther } = await leading();
    breaker.trip("why");
    await clock.run(11_000);
    reset(store);
    await clock.run(11_000);
    await elector.stop();
    const next = makeOther("b");
    next.elector.start();
    await clock.run(11_000);
    const resetMs = Math.floor(breaker.resetMs / 1_000) * 1_000;
    expect([next.breaker.state, next.breaker.resetMs]).toEqual([null, resetMs]);
    // By a clock that is ahead: what counts since then would never count.
    store.put({ ...store.record!, annotations: { [BREAKER_RESET_ANNOTATION]: "2999-01-01T00:00:00Z" } });
    await clock.run(11_000);
    expect(next.breaker.resetMs).toBe(resetMs);
  });

  it("stays tripped while it cannot be written, until the term ends", async () => {
    const { clock, store, breaker, elector } = await leading();
    store.fault = () => Promise.reject(new Error("connection refused"));
    breaker.trip("why");
    await clock.run(14_000);
    expect([breaker.state, elector.isLeader()]).toEqual(["why", true]);
    await clock.run(5_000);
    expect(elector.isLeader()).toBe(false);
    breaker.endTerm();
    expect(breaker.state).toBeNull();
    store.fault = undefined;
    await clock.run(60_000);
    expect([elector.isLeader(), annotation(store)]).toEqual([true, undefined]);
  });

  it.each(["deletion of the Lease", "restore of a backup"])("is not reset by the %s", async what => {
    const { clock, store, breaker } = await leading();
    const backup = store.record!;
    breaker.trip("why");
    await clock.run(11_000);
    if (what.startsWith("restore")) store.put(backup);
    else store.remove();
    await clock.run(60_000);
    expect([breaker.state, breaker.resetMs, annotation(store)]).toEqual(["why", -Infinity, "why"]);
  });
});

function withKeys(identity: string, store: MemoryLease, clock: FakeClock) {
  const memory = new KeyMemory();
  return { memory, ...makeCandidate(identity, { store, clock }, { annotations: [leaseKeys(memory, clock)] }) };
}

it("the signing keys on the Lease reach the next leader, so that it knows of a rotation that cost the last one its identity", async () => {
  const [store, clock] = [new MemoryLease(), new FakeClock()];
  const first = withKeys("a", store, clock);
  first.elector.start();
  await clock.run(100);
  expect(annotation(store, KEYS_ANNOTATION)).toBeUndefined();
  first.memory.take(["old"], clock.now().getTime());
  await clock.run(10_100);
  expect(annotation(store, KEYS_ANNOTATION)).toBe(formatKeys(first.memory.history!));
  await first.elector.stop();

  const second = withKeys("b", store, clock);
  second.elector.start();
  await clock.run(20_000);
  expect(second.elector.isLeader()).toBe(true);
  second.memory.take(["new"], clock.now().getTime());
  const { readMs } = first.memory.history!;
  expect(rotationIn(second.memory.history)?.beforeMs).toBe(Math.floor(readMs / 1000) * 1000);
});
