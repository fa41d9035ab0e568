import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../../api/controller-resilience";
import { ConflictError } from "../../core/errors";
import type { Key } from "../../core/ports";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeObject, MemoryObjects, RecordingWriter } from "../testing/fakes";
import { ObjectSession } from "../object/object-session";
import { makeReconciler } from "../testing/reconciler";
import { makeRestarts } from "../testing/restarts";
import { makeClaim, makeDecision, makeEviction, makeReaders, makeRemedy, specWith } from "../testing/remedies";
import { WorkloadRestarts } from "./workload-restarts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A remedy that wants another pod of the same workload gone in every pass, whichever object it is asked for. */
function makeBench() {
  const clock = new FakeClock();
  const store = new MemoryObjects();
  const writer = new RecordingWriter();
  let pod = 0;
  const remedy = makeRemedy(() =>
    makeDecision({ status: "False", reason: "Rejected", intents: [makeEviction(`app-${pod++}`)] }),
  );
  const reconciler = makeReconciler({ store, writer, readers: makeReaders(clock), remedies: [remedy] });
  const create = (key: Key, uid: string) => {
    const object = makeObject(key, specWith("tokenRestart"));
    store.put({ ...object, metadata: { ...object.metadata, uid } });
  };
  const pass = (key: Key) => reconciler.reconcile(key, () => true);
  return { clock, store, writer, create, pass };
}

describe("the budget of a workload", () => {
  it("is shared by all objects that name it", async () => {
    const bench = makeBench();
    bench.create("team/app", "u1");
    bench.create("team/twin", "u2");
    const evictedAfterMinutes = [];
    for (let minute = 1; minute <= 50; minute++) {
      bench.clock.advance(MINUTE);
      for (const key of ["team/app", "team/twin"]) {
        const before = bench.writer.written.length;
        await bench.pass(key);
        if (bench.writer.written.length > before) evictedAfterMinutes.push(minute);
      }
    }
    expect(evictedAfterMinutes).toEqual([1, 11, 21]);
  });

  it("is not renewed by deleting the object and creating it again", async () => {
    const bench = makeBench();
    bench.create("team/app", "u0");
    for (let minute = 1; minute <= 50; minute++) {
      bench.clock.advance(MINUTE);
      if (minute % 3 === 0) {
        bench.store.objects.delete("team/app");
        await bench.pass("team/app");
        bench.create("team/app", `u${minute}`);
      }
      await bench.pass("team/app");
    }
    expect(bench.writer.written).toHaveLength(3);
  });

  it("is separate for each namespace", async () => {
    const bench = makeBench();
    bench.create("team/app", "u1");
    bench.create("other/app", "u2");
    bench.clock.advance(MINUTE);
    await bench.pass("other/app");
    await bench.pass("team/app");
    // The remedy's pods are in team, so the other object's intent is forbidden, and costs team nothing.
    expect(bench.writer.written).toHaveLength(1);
  });

  it("is not used by a refused restart, also for other objects", async () => {
    const bench = makeBench();
    bench.create("team/app", "u1");
    bench.create("team/twin", "u2");
    bench.clock.advance(MINUTE);
    bench.writer.answer = () => Promise.reject(new ConflictError("uid differs"));
    await bench.pass("team/app");
    bench.writer.answer = () => Promise.resolve();
    await bench.pass("team/twin");
    expect(bench.writer.written).toHaveLength(2);
  });
});

describe("two objects with one workload", () => {
  it("take turns, whatever the cooldown, for a quarter of an hour at most", () => {
    const clock = new FakeClock();
    const restarts = makeRestarts(clock);
    const store = new MemoryObjects();
    const limits = { cooldownMs: 0, maxRestarts: 100 };
    const claim = makeClaim("app-2", { limits });
    const sessionOf = (key: Key, history: RestartStatus[]) => {
      const made = makeObject(key, {}, { restarts: history });
      const object = store.put({ ...made, metadata: { ...made.metadata, uid: key } });
      restarts.load(key, object);
      return restarts.settle(new ObjectSession(object, store, clock));
    };
    const entry = (outcome: RestartStatus["outcome"], pod = "app-1"): RestartStatus => {
      const { workload, podUID, cause } = makeClaim(pod);
      return { pod, workload, podUID, cause, outcome, time: clock.now().toISOString() };
    };
    const waiting = { result: "Limited", limit: "OtherObject", retryAfterMs: 10_000 };
    for (const outcome of ["Requested", "Restarted"] as const) {
      sessionOf("team/twin", [entry(outcome)]);
      expect(sessionOf("team/app", []).deferral(claim)).toEqual(waiting);
    }
    clock.advance(15 * MINUTE);
    expect(sessionOf("team/app", []).deferral(claim)).toBeUndefined();
    for (const done of ["Recovered", "Ineffective"] as const) {
      sessionOf("team/twin", [entry(done)]);
      expect(sessionOf("team/app", []).deferral(claim)).toBeUndefined();
    }
    sessionOf("team/twin", []);
    expect(sessionOf("team/app", [entry("Restarted")]).deferral(claim)).toBeUndefined();
  });
});

describe("the restart history of objects", () => {
  const restart = (pod: string, time: Date): RestartStatus => ({
    pod,
    podUID: pod,
    workload: "Deployment/app",
    time: time.toISOString(),
    cause: "Unknown",
    outcome: "Restarted",
  });
  const object = (uid: string, key = "team/app") => {
    const made = makeObject(key);
    return { ...made, metadata: { ...made.metadata, uid } };
  };
  const pods = (restarts: WorkloadRestarts) =>
    restarts.recordedByOthers(object("me"), "Deployment/app").map(({ pod }) => pod);

  it("is shared in the namespace, in its last version", () => {
    const clock = new FakeClock();
    const restarts = new WorkloadRestarts(clock);
    restarts.note(object("me"), [restart("mine", clock.now())]);
    restarts.note(object("a"), [restart("old", clock.now())]);
    restarts.note(object("a"), [
      restart("new", clock.now()),
      { ...restart("x", clock.now()), workload: "Deployment/x" },
    ]);
    restarts.note(object("b", "other/app"), [restart("elsewhere", clock.now())]);
    expect(pods(restarts)).toEqual(["new"]);
    restarts.note(object("a"), []);
    expect(pods(restarts)).toEqual([]);
  });

  it("is shared for any number of objects with long histories", () => {
    const clock = new FakeClock();
    const restarts = new WorkloadRestarts(clock);
    const lately = restart("lately", clock.now());
    const before = restart("before", new Date(clock.now().getTime() - 169 * HOUR));
    const history = [...Array<RestartStatus>(9).fill(before), lately];
    for (let i = 0; i < 2_500; i++) restarts.note(object(`object-${i}`, `team-${i}/app`), history);
    expect(restarts.recordedByOthers(object("me", "team-0/app"), "Deployment/app")).toEqual([lately]);
  });

  it("is dropped after the longest window, and beyond a number of entries, the oldest first", () => {
    const clock = new FakeClock();
    const restarts = new WorkloadRestarts(clock);
    restarts.note(object("gone"), [restart("gone", clock.now())]);
    clock.advance(167 * HOUR);
    restarts.note(object("a"), [restart("a", clock.now())]);
    expect(pods(restarts)).toEqual(["gone", "a"]);
    clock.advance(2 * HOUR);
    restarts.note(object("b"), [restart("b", clock.now())]);
    expect(pods(restarts)).toEqual(["a", "b"]);
    restarts.note(object("c"), Array<RestartStatus>(19_999).fill(restart("c", clock.now())));
    expect(new Set(pods(restarts))).toEqual(new Set(["b", "c"]));
  });
});
