import { describe, expect, it } from "vitest";
import type { ObjectMetadata } from "../api/controller-resilience";
import { BREAKER_ANNOTATION, FLOW_PREFIX, OWNER_ANNOTATION } from "../api/names";
import type { Permission, RestartClaim } from "../core/intent";
import { ownedName, ownerLabels } from "../core/owned";
import type { ClusterObjectView } from "../core/views";
import { FakeClock } from "../core/testing/fake-clock";
import { Engine } from "./engine";
import {
  makeObject,
  MemoryLease,
  MemoryObjects,
  RecordingEvents,
  RecordingLog,
  RecordingMetrics,
  RecordingWriter,
} from "./testing/fakes";
import { makeClaim, makeDecision, makeEviction, makeReaders, makeRemedy, specWith } from "./testing/remedies";

const HOUR = 3_600_000;
const PERMISSIONS: readonly Permission[] = [
  { apiGroup: "", resource: "pods/eviction", verbs: ["create"], why: "" },
  { apiGroup: "flowcontrol.apiserver.k8s.io", resource: "flowschemas", verbs: ["delete"], why: "" },
];
const ENDLESS = { cooldownMs: 0, maxRestarts: 1_000 };

/** There are no ClusterControllerResiliences. */
const NO_CLUSTER_OBJECTS = {
  caches: { attempted: () => Promise.resolve(), clusterObjects: () => [] } as never,
  store: {} as never,
};

/** All objects name the same workload. */
const SHARED: (pod: string) => Partial<RestartClaim> = () => ({});

function makeBench(limits = ENDLESS, claimOf = SHARED, recheckAfterMs = 1_000) {
  const clock = new FakeClock();
  const events = new RecordingEvents();
  const log = new RecordingLog();
  const metrics = new RecordingMetrics();
  const trouble: { clock: string | null } = { clock: null };
  const shared = {
    clock,
    events,
    log,
    metrics,
    store: new MemoryObjects(),
    lease: new MemoryLease(),
    writer: new RecordingWriter(),
  };
  // A remedy that always wants to restart another pod.
  const makeEngine = (identity: string, readers = makeReaders(clock)) => {
    const remedy = makeRemedy(
      now => {
        const pod = `pod-${now.getTime()}`;
        const restart = makeClaim(pod, { limits, ...claimOf(pod) });
        const intents = [makeEviction(pod, { restart })];
        return makeDecision({ status: "False", reason: "Rejected", message: "Rejected.", intents, recheckAfterMs });
      },
      { permissions: PERMISSIONS },
    );
    return new Engine(
      {
        ...shared,
        readers,
        cachedReaders: readers,
        clockTrouble: () => trouble.clock,
        remedies: [remedy],
        random: () => 0.5,
        clusterWide: NO_CLUSTER_OBJECTS,
      },
      { identity, clusterWide: { ownNamespace: "system", isWatched: () => true } },
    );
  };
  return { ...shared, trouble, makeEngine };
}

describe("the engine", () => {
  it("restarts at most one pod per 10 s, also across a leader change", async () => {
    // Restarts of one workload by several objects follow each other; these never end.
    const { clock, store, writer, metrics, makeEngine } = makeBench(ENDLESS, pod => ({
      workload: `Deployment/${pod}`,
      cause: "TokenTooLong",
    }));
    for (const key of ["team/a", "team/b", "team/c"]) store.put(makeObject(key, specWith("tokenRestart")));
    const times: number[] = [];
    writer.answer = () => Promise.resolve(void times.push(clock.monotonicMs()));
    const [first, second] = [makeEngine("first"), makeEngine("second")];
    first.start();
    second.start();
    await clock.run(120_000);
    expect([first.elector.isLeader(), second.elector.isLeader()]).toEqual([true, false]);
    expect(first.loop.knownIn("team")).toHaveLength(3);
    expect(new Set(metrics.loops)).toEqual(new Set(["controllerresilience", "clustercontrollerresilience"]));
    const stopped = first.stop();
    await clock.run(10_000);
    await stopped;
    await clock.run(120_000);
    expect([first.elector.isLeader(), second.elector.isLeader()]).toEqual([false, true]);
    expect(times.length).toBeGreaterThan(15);
    const apart = times.slice(1).map((time, i) => time - times[i]!);
    expect(Math.min(...apart)).toBeGreaterThanOrEqual(10_000);
    const total = [...store.objects.values()].reduce((sum, { status }) => sum + (status?.restartsTotal ?? 0), 0);
    expect(total).toBe(times.length);
    expect(Math.max(...[...store.objects.values()].map(({ status }) => status?.restartsTotal ?? 0))).toBeLessThan(
      times.length,
    );
    await second.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it("restarts nothing while the operator's clock is off, whatever the proof", async () => {
    const { clock, store, writer, trouble, makeEngine } = makeBench(ENDLESS, pod => ({
      workload: `Deployment/${pod}`,
      cause: "ServiceAccountRecreated",
    }));
    store.put(makeObject("team/a", specWith("tokenRestart")));
    trouble.clock = "the operator's clock is about 2400 s behind an API server's";
    makeEngine("only").start();
    await clock.run(60_000);
    expect(writer.written).toEqual([]);
    trouble.clock = null;
    await clock.run(20_000);
    expect(writer.written.length).toBeGreaterThan(0);
  });

  it("pauses while it fails to renew its Lease, and resumes in the same process", async () => {
    const { clock, store, lease, writer, makeEngine } = makeBench();
    store.put(makeObject("team/a", specWith("tokenRestart")));
    const engine = makeEngine("only");
    engine.start();
    await clock.run(60_000);
    lease.fault = () => Promise.reject(new Error("connection refused"));
    await clock.run(16_000);
    const before = writer.written.length;
    expect([engine.elector.isLeader(), engine.loop.sinceProgressMs()]).toEqual([false, 0]);
    await clock.run(600_000);
    expect(writer.written.length).toBe(before);
    lease.fault = undefined;
    await clock.run(60_000);
    expect([engine.elector.isLeader(), writer.written.length > before]).toEqual([true, true]);
  });

  it("records leadership changes as Events on the Lease, except for a graceful stop", async () => {
    const { clock, lease, events, makeEngine } = makeBench();
    const engine = makeEngine("only");
    engine.start();
    await clock.run(60_000);
    lease.fault = () => Promise.reject(new Error("connection refused"));
    await clock.run(60_000);
    lease.fault = undefined;
    await clock.run(60_000);
    const stopped = engine.stop();
    await clock.run(10_000);
    await stopped;
    expect(events.records.map(({ type, reason, note }) => `${type} ${reason}: ${note}`)).toEqual([
      "Normal StartedLeading: only became leader.",
      "Warning StoppedLeading: only stopped leading and stands by: renew deadline exceeded.",
      "Normal StartedLeading: only became leader.",
    ]);
    expect(events.records[0]?.regarding).toEqual(lease.ref);
  });

  it("stops unproven restarts after two in vain, across leaders, until a person resets the breaker on the Lease", async () => {
    const unknown = (): Partial<RestartClaim> => ({ cause: "Unknown" });
    const { clock, store, lease, writer, events, metrics, log, makeEngine } = makeBench(ENDLESS, unknown, 10_000);
    for (const key of ["team/a", "shop/b"]) store.put(makeObject(key, specWith("tokenRestart")));
    const first = makeEngine("first");
    first.start();
    await clock.run(HOUR / 2);
    expect([writer.written.length, metrics.gauges.get("restart_breaker_tripped")]).toEqual([1, undefined]);
    await clock.run(HOUR);
    expect(writer.written).toHaveLength(2);
    expect(lease.record?.annotations?.[BREAKER_ANNOTATION]).toMatch(
      /Z two restarts without proof within an hour did not help/,
    );
    const onLease = () => events.records.filter(({ reason }) => reason === "BreakerTripped");
    expect(onLease()).toMatchObject([{ type: "Warning", regarding: lease.ref, action: "TripBreaker" }]);
    const deferred = ["deferred:UnprovenRestart", "deferred:Breaker"].map(one => metrics.seen.includes(one));
    expect([metrics.gauges.get("restart_breaker_tripped"), ...deferred]).toEqual([1, true, true]);
    const lines = () => log.lines.filter(({ message }) => message.startsWith("restart breaker"));
    expect(lines()).toHaveLength(1);

    const stopped = first.stop();
    await clock.run(10_000);
    await stopped;
    const second = makeEngine("second");
    second.start();
    await clock.run(300_000);
    expect([second.elector.isLeader(), writer.written.length, onLease().length]).toEqual([true, 2, 1]);

    const { annotations: { [BREAKER_ANNOTATION]: breaker, ...annotations } = {}, ...record } = lease.record!;
    expect(breaker).toBeDefined();
    lease.put({ ...record, annotations });
    await clock.run(1.5 * HOUR);
    expect([second.elector.isLeader(), writer.written.length, onLease().length]).toEqual([true, 4, 2]);
    expect(lines().map(({ message }) => message.split(" ").at(-1))).toEqual(["tripped", "tripped", "reset", "tripped"]);
    await second.stop();
  });

  it("deletes what is left of an object that is gone, once it has listed all", async () => {
    const { makeEngine, clock, writer, store } = makeBench();
    store.put(makeObject("team/a"));
    const left = ["gone", "uid-of-a"].map(
      (uid, i): ClusterObjectView => ({
        ...{ apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "FlowSchema", uid: `${i}`, resourceVersion: "1" },
        ...{ name: ownedName(FLOW_PREFIX, [], [uid]), createdAtMs: 0, spec: {} },
        ...{
          labels: ownerLabels({ metadata: { uid } as ObjectMetadata }),
          annotations: { [OWNER_ANNOTATION]: `team/${i}` },
        },
      }),
    );
    const engine = makeEngine(
      "only",
      Object.assign(makeReaders(clock), { clusterObjects: () => Promise.resolve(left) }),
    );
    engine.start();
    await clock.run(60_000);
    expect(writer.written).toMatchObject([{ verb: "delete", target: { name: left[0]?.name } }]);
    await engine.stop();
  });
});
