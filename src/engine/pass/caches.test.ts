import { describe, expect, it } from "vitest";
import type { ControllerResilienceStatus } from "../../api/controller-resilience";
import { ConditionType } from "../../api/conditions";
import { FINALIZER } from "../../api/names";
import type { Readers } from "../../core/readers";
import { ForbiddenError, TerminalError, TooLargeError, TransientError } from "../../core/errors";
import { defineRemedy } from "../../core/remedy";
import { EmptyReaders } from "../../core/testing/empty-readers";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeObject, MemoryObjects } from "../testing/fakes";
import { LiveReadsNeeded, ObjectSession } from "../object/object-session";
import { KEY, makePassBench } from "../testing/reconciler";
import { makeEviction, makePatch, specWith } from "../testing/remedies";
import { makeRestarts } from "../../restarts/testing/ledger";

/** Pods that a remedy evicts: those that the readers have, by name. */
class Pods extends EmptyReaders {
  asked = 0;
  constructor(
    clock: FakeClock,
    public names: readonly string[],
  ) {
    super(clock);
  }
  override pods() {
    this.asked++;
    return Promise.resolve(this.names.map(name => ({ name }) as never));
  }
}

const remedy = defineRemedy({
  ...{ name: "token-restart", block: "tokenRestart", condition: ConditionType.TokensAccepted, owns: "targets" },
  reasons: { Accepted: { event: "Normal", help: "" }, Rejected: { event: "Warning", help: "" } },
  permissions: [
    { apiGroup: "", resource: "pods/eviction", verbs: ["create"], why: "" },
    { apiGroup: "apps", resource: "deployments", verbs: ["patch"], why: "" },
  ],
  observe: async (_object, _spec, readers: Readers) => (await readers.pods("team")).map(({ name }) => name),
  plan: names => ({ items: names.map(name => ({ id: name, intents: [intentOn(name)] })), names }),
  report: ({ names }) => {
    const isFine = names.length === 0;
    return { status: isFine ? "True" : "False", reason: isFine ? "Accepted" : "Rejected", message: names.join(" ") };
  },
});

function intentOn(name: string) {
  return name.startsWith("pod") ? makeEviction(name) : makePatch(name);
}

function makeBench({ live = [] as readonly string[], cached = [] as readonly string[], mode = "Enforce" } = {}) {
  const clock = new FakeClock();
  const [readers, cachedReaders] = [new Pods(clock, live), new Pods(clock, cached)];
  const paused: string[] = [];
  const setup = {
    spec: { ...specWith("tokenRestart"), mode: mode as "Enforce" },
    remedies: [{ ...remedy, pause: (key: string) => void paused.push(key) }],
    restarts: makeRestarts(clock, undefined, { missing: [KEY] }),
  };
  const { store, writer, pass, restarts } = makePassBench({ clock, readers, cachedReaders, ...setup });
  let gets = 0;
  const { get } = store;
  store.get = key => {
    gets++;
    return get(key);
  };
  /** As the watch does. */
  const fillCache = (): void => void (store.cache = new Map(structuredClone(store.objects)));
  const counts = () => ({ gets, reads: readers.asked, written: writer.written.length });
  /** What holds back a restart without proof for another object. */
  const limit = async () => {
    const session = new ObjectSession(store.put(makeObject("other/app")), store, clock);
    const answer = await restarts.settle(session).request({ ...makeEviction("pod-1").restart!, cause: "Unknown" });
    return "limit" in answer && answer.limit;
  };
  /** What holds back a rollout of another object. */
  const rolloutLimit = () =>
    restarts.settle(new ObjectSession(makeObject("other/app"), store, clock)).rolloutDeferral({ workload: "w" })?.limit;
  const shown = { pass, fillCache, counts, limit, rolloutLimit, paused: () => paused };
  return { clock, store, writer, readers, cachedReaders, ...shown };
}

describe("a pass on caches", () => {
  it("reads nothing live while nothing changes", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.fillCache();
    const before = bench.counts();
    expect(await bench.pass()).toEqual({ next: "recheck" });
    expect(bench.counts()).toEqual(before);
    expect(bench.cachedReaders.asked).toBe(1);
  });

  it("is repeated live before a write to the cluster, which follows the live reads", async () => {
    const bench = makeBench({ cached: ["deployment-a"], live: ["deployment-b"] });
    bench.fillCache();
    await bench.pass();
    expect(bench.writer.written.map(({ target }) => target.name)).toEqual(["deployment-b"]);
    expect(bench.counts()).toMatchObject({ gets: 1, reads: 1 });
  });

  it("does not end what status tells of live reads that fail", async () => {
    const bench = makeBench();
    let tries = 0;
    bench.readers.pods = () => Promise.reject(new TransientError(`list pods: try ${++tries}`));
    await bench.pass();
    const object = bench.store.objects.get(KEY)!;
    bench.store.put({ ...object, status: { ...object.status, mode: "Observe" } });
    bench.fillCache();
    await bench.pass();
    const { conditions = [] } = bench.store.objects.get(KEY)!.status!;
    expect([tries, conditions[0]?.message]).toEqual([2, "No action until reads succeed: list pods: try 1."]);
  });

  it("writes what its conditions say", async () => {
    const bench = makeBench({ mode: "Observe" });
    await bench.pass();
    bench.fillCache();
    const { gets, reads } = bench.counts();
    bench.cachedReaders.names = ["pod-1"];
    bench.readers.names = ["pod-1", "pod-2"];
    await bench.pass();
    const { conditions = [] } = bench.store.objects.get(KEY)!.status!;
    expect(conditions.map(({ message }) => message)).toContain("pod-1");
    expect(bench.counts()).toMatchObject({ gets, reads });
  });

  it.each<[string, (store: MemoryObjects) => unknown]>([
    ["the object has changed since the watch last told", store => store.put({ ...store.objects.get(KEY)! })],
    [
      "the cached object has a field that the definition has lost since",
      store => {
        const write = store.writeStatus.bind(store);
        store.writeStatus = () => {
          store.writeStatus = write;
          return Promise.reject(new TerminalError('unknown field "spec.later"'));
        };
      },
    ],
  ])("is repeated live where %s", async (_, change) => {
    const bench = makeBench({ mode: "Observe", live: ["pod-2"] });
    await bench.pass();
    bench.fillCache();
    bench.cachedReaders.names = ["pod-1"];
    change(bench.store);
    expect(await bench.pass()).toMatchObject({ next: "recheck" });
    const { conditions = [] } = bench.store.objects.get(KEY)!.status!;
    expect(conditions.map(({ message }) => message)).toContain("pod-2");
    bench.store.objects.clear();
    expect(await bench.pass()).toEqual({ next: "forget" });
  });

  it.each<[string, ControllerResilienceStatus, string]>([
    ["conditions", { conditions: [] }, "written"],
    ["targets", { targets: [] }, "written"],
    ["restarts", { restarts: [] }, "read live"],
    ["the count of restarts", { restartsTotal: 1 }, "read live"],
    ["bindings", { bindings: [] }, "read live"],
    ["flows", { flows: [] }, "read live"],
    ["DaemonSets", { daemonSets: [] }, "read live"],
    ["stalls", { stalls: [] }, "read live"],
    ["the mode", { mode: "Observe" }, "read live"],
    ["a generation", { observedGeneration: 7 }, "read live"],
  ])("with other %s in status: %s is %s", async (_, changed, expected) => {
    const store = new MemoryObjects();
    const object = store.put(makeObject(KEY));
    const session = new ObjectSession(object, store, new FakeClock(), true);
    const writing = session.writeStatus({ ...object.status, ...changed });
    if (expected === "read live") await expect(writing).rejects.toThrow(LiveReadsNeeded);
    else await writing;
    expect(store.writes).toHaveLength(expected === "written" ? 1 : 0);
  });

  it("needs no live reads for writes that Observe mode, or a backoff, holds back", async () => {
    const bench = makeBench({ mode: "Observe", cached: ["deployment-a"], live: ["deployment-a"] });
    await bench.pass();
    bench.fillCache();
    const before = bench.counts();
    await bench.pass();
    expect(bench.counts()).toEqual(before);
    const failing = makeBench({ cached: ["deployment-a"], live: ["deployment-a"] });
    failing.writer.answer = () => Promise.reject(new Error("no"));
    await failing.pass();
    failing.fillCache();
    await failing.pass();
    const { gets } = failing.counts();
    failing.fillCache();
    await failing.pass();
    expect(failing.counts()).toMatchObject({ gets, written: 1 });
  });

  it("is not made of an object that the cache lacks, or that is being deleted", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.store.cache = new Map();
    await bench.pass();
    const { metadata } = bench.store.objects.get(KEY)!;
    const deleting = { ...metadata, deletionTimestamp: "2025-01-01T00:00:00Z", finalizers: [FINALIZER] };
    bench.store.put({ ...bench.store.objects.get(KEY)!, metadata: deleting });
    bench.fillCache();
    expect(await bench.pass()).toEqual({ next: "forget" });
    expect(bench.counts().gets).toBe(3);
    expect(bench.cachedReaders.asked).toBe(0);
  });

  it("tells a new leader the restarts of an object that it may not read live", async () => {
    const bench = makeBench();
    bench.fillCache();
    bench.store.get = () => Promise.reject(new ForbiddenError("get controllerresiliences team/app: forbidden (403)"));
    expect(await bench.limit()).toBe("LeaderWarmup");
    expect(await bench.pass()).toEqual({ next: "give-up" });
    expect(await bench.limit()).toBe("RestartPacer");
  });

  it("lets a new leader wait for no object that is too large to be read", async () => {
    const bench = makeBench();
    bench.store.get = () => Promise.reject(new TooLargeError("get controllerresiliences team/app: too large"));
    expect(await bench.limit()).toBe("LeaderWarmup");
    expect(await bench.pass()).toEqual({ next: "give-up" });
    expect(await bench.limit()).toBe("RestartPacer");
  });

  it.each(["get", "writeStatus"] as const)(
    "lets the others wait for a rollout while its %s is too large",
    async call => {
      const bench = makeBench();
      const object = bench.store.objects.get(KEY)!;
      const daemonSets = [{ name: "agent", outcome: "Trial", message: "" } as never];
      bench.store.put({ ...object, spec: { ...object.spec, tokenLifetime: {} as never }, status: { daemonSets } });
      await bench.pass();
      expect(bench.rolloutLimit()).toBe("Rollout");
      bench.readers.names = ["pod-1"];
      const tooLarge = () => Promise.reject(new TooLargeError("controllerresiliences team/app: too large"));
      Object.assign(bench.store, { [call]: tooLarge });
      expect(await bench.pass()).toEqual({ next: "give-up" });
      expect(bench.rolloutLimit()).toBe("Rollout");
    },
  );

  it("pauses remedies of a suspended object, and those without a block", async () => {
    const bench = makeBench();
    await bench.pass();
    expect(bench.paused()).toEqual([]);
    bench.store.put({
      ...bench.store.objects.get(KEY)!,
      spec: { ...specWith("bindingRenewal"), targets: [] } as never,
    });
    await bench.pass();
    const spec = { ...bench.store.objects.get(KEY)!.spec, ...specWith("tokenRestart"), suspend: true };
    bench.store.put({ ...bench.store.objects.get(KEY)!, spec });
    await bench.pass();
    expect(bench.paused()).toEqual([KEY, KEY]);
  });
});
