import { describe, expect, it } from "vitest";
import type { ControllerResilienceSpec, ControllerResilienceStatus } from "../../api/controller-resilience";
import {
  ConflictError,
  ForbiddenError,
  GoneError,
  TerminalError,
  TerminatingError,
  TransientError,
  UnauthorizedError,
  UnavailableError,
  WaitError,
} from "../../core/errors";
import type { Execution, Intent } from "../../core/intent";
import type { Key } from "../../core/ports";
import { FakeClock } from "../../core/testing/fake-clock";
import { Executor } from "./executor";
import { LiveReadsNeeded, ObjectSession } from "../object/object-session";
import { makeObject, MemoryObjects, RecordingLog, RecordingMetrics, RecordingWriter } from "../testing/fakes";
import { makeClaim, makeEviction, makePatch, makeRemedy } from "../testing/remedies";
import { makeRestarts } from "../../restarts/testing/ledger";

function makeBench(
  spec: Partial<ControllerResilienceSpec> = {},
  status?: ControllerResilienceStatus,
  missing: Key[] = [],
) {
  const clock = new FakeClock();
  const store = new MemoryObjects();
  const object = store.put(makeObject("team/app", spec, status));
  const writer = new RecordingWriter();
  const metrics = new RecordingMetrics();
  const log = new RecordingLog();
  const asked: Key[] = [];
  const restarts = makeRestarts(clock, undefined, { missing, requestPass: key => void asked.push(key) });
  clock.advance(10_000);
  const session = new ObjectSession(object, store, clock);
  const leading = { yes: true };
  const executor = new Executor({ writer, clock, metrics });
  const scope = {
    object,
    mode: object.spec.mode,
    log,
    restarts: restarts.settle(session),
    mayWrite: () => leading.yes,
  };
  const execute = (intent: Intent, by = makeRemedy()) => executor.execute(by, intent, scope);
  const cleanUp = (intent: Intent) => executor.execute(makeRemedy(), intent, { ...scope, isCleanup: true });
  const executeAll = async (intents: Intent[]) => {
    const outcomes = await executor.executeAll(makeRemedy(), [{ id: "item", intents }], scope);
    return (outcomes.get("item") ?? []).map(({ outcome }) => outcome);
  };
  /** As in a pass on caches: what is tried needs live reads. */
  const isTried = (intent: Intent) =>
    executor.execute(makeRemedy(), intent, { ...scope, beforeWrite: needLiveReads }).then(
      () => false,
      () => true,
    );
  /** Begins another pass, in which the remedy found that no request was executed. */
  const withdrawAll = () => (scope.restarts = restarts.settle(session, [{ causes: ["Unknown"], restarts: [] }]));
  /** Reports whether the pacer permits a restart, here of another object. */
  const isPacerFree = async () => {
    const others = new MemoryObjects();
    const other = new ObjectSession(others.put(makeObject("shop/app")), others, clock);
    const { result } = await restarts.settle(other).request(makeEviction().restart!);
    return result === "Requested";
  };
  const lasting = (...executions: Execution[]) => executor.lasting(executions);
  const outcomes = () => (scope.restarts.status().restarts ?? []).map(({ outcome }) => outcome);
  const pendingIn = (namespace: string) => executor.pendingRestarts(namespace);
  const actions = { execute, isTried, cleanUp, executeAll, withdrawAll, isPacerFree, outcomes, lasting, pendingIn };
  return { clock, store, writer, metrics, log, restarts, asked, leading, ...actions };
}

const outcomes = (bench: ReturnType<typeof makeBench>) => bench.outcomes();

function needLiveReads(): never {
  throw new LiveReadsNeeded();
}

describe("intents of one remedy", () => {
  const three = ["a", "b", "c"].map(name => makePatch(name));

  it("run one by one for ten seconds; the others wait for the next pass", async () => {
    const { executeAll, writer, clock } = makeBench();
    writer.answer = () => {
      clock.advance(6_000);
      return Promise.resolve();
    };
    const later = { result: "Limited", limit: "PassTime", retryAfterMs: 1_000 };
    expect(await executeAll(three)).toEqual([{ result: "Executed" }, { result: "Executed" }, later]);
    expect(writer.written).toEqual(three.slice(0, 2));
  });

  it("that failed are retried after two seconds, with growing delays, and at once if they have changed", async () => {
    const { execute, writer, clock } = makeBench();
    writer.answer = () => Promise.reject(new TransientError("no answer"));
    const times: number[] = [];
    for (let second = 0; times.length < 8; second++) {
      const before = writer.written.length;
      await execute(makePatch());
      if (writer.written.length > before) times.push(second);
      clock.advance(1_000);
    }
    expect(times).toEqual([0, 2, 6, 14, 30, 62, 122, 182]);
    await execute(makePatch("app", { body: { spec: { another: true } } }));
    expect(writer.written).toHaveLength(9);
  });
});

describe("an intent", () => {
  it("is written, counted and logged", async () => {
    const { execute, writer, metrics, log } = makeBench();
    expect(await execute(makePatch())).toEqual({ result: "Executed" });
    expect(writer.written).toEqual([makePatch()]);
    expect(metrics.seen).toEqual(["intent:token-restart:patch:Executed"]);
    expect(log.lines[0]).toMatchObject({ level: "info", fields: { remedy: "token-restart", verb: "patch" } });
  });

  const elsewhere = { ...makePatch().target, namespace: "kube-system" };
  const anyPod = { apiVersion: "v1", kind: "Pod", namespace: "team", name: "x" };

  it.each<[string, Partial<ControllerResilienceSpec>, Intent, object]>([
    ["outside the remedy's rights", {}, makePatch("x", { verb: "delete" }), { result: "Forbidden" }],
    ["of another namespace", {}, makePatch("x", { target: elsewhere }), { result: "Forbidden" }],
    ["to evict without a uid", {}, makeEviction("x", { target: anyPod }), { result: "Forbidden" }],
    ["of a suspended object", { suspend: true }, makePatch(), { result: "Skipped" }],
    ["in Observe mode", { mode: "Observe" }, makePatch(), { result: "Observed" }],
    ["in Observe mode, of a restart", { mode: "Observe" }, makeEviction(), { result: "Observed" }],
    ["with the skip annotation", {}, makePatch("x", { skip: true }), { result: "Skipped" }],
  ])("%s is not written", async (_what, spec, intent, expected) => {
    const { execute, writer, store } = makeBench(spec);
    expect(await execute(intent)).toMatchObject(expected);
    expect([writer.written, store.writes]).toEqual([[], []]);
  });

  it("is not written without the lead, which is checked first", async () => {
    const { execute, writer, leading } = makeBench({ mode: "Observe" });
    leading.yes = false;
    expect(await execute(makePatch("x", { verb: "delete" }))).toEqual({ result: "NotLeader" });
    expect(writer.written).toEqual([]);
  });

  it.each<[unknown, object]>([
    [new WaitError("no budget", 17_000), { result: "Blocked", message: "no budget", retryAfterMs: 17_000 }],
    [new ForbiddenError("patch deployments"), { result: "Forbidden", message: "patch deployments" }],
    [new ConflictError("uid differs"), { result: "Conflict", message: "uid differs" }],
    [new GoneError("not found"), { result: "Conflict", message: "not found" }],
    [new TerminatingError("is being terminated"), { result: "Conflict", message: "is being terminated" }],
    [new TransientError("reset"), { result: "Failed", message: "reset", retryAfterMs: 2_000 }],
    [new TerminalError("invalid"), { result: "Failed", message: "invalid", retryAfterMs: 2_000 }],
    ["a string", { result: "Failed", message: "a string", retryAfterMs: 2_000 }],
  ])("that fails with %s has the matching outcome", async (error, expected) => {
    const bench = makeBench();
    bench.writer.answer = () => {
      throw error;
    };
    expect(await bench.execute(makePatch())).toEqual(expected);
  });

  it("that fails, or succeeds again, looks at no other: thousands may have failed", async () => {
    const { clock, execute, writer } = makeBench();
    writer.answer = () => Promise.reject(new TransientError("no"));
    let looks = 0;
    const other = makePatch("other");
    const target = {
      ...other.target,
      get name() {
        return (looks++, "other");
      },
    };
    await execute({ ...other, target });
    const before = looks;
    await execute(makePatch("one"));
    writer.answer = () => Promise.resolve();
    clock.advance(2_000);
    expect((await execute(makePatch("one"))).result).toBe("Executed");
    expect(looks).toBe(before);
  });

  it("that is forbidden is not retried in every pass, since only a change of the rights helps", async () => {
    const { execute, writer, clock } = makeBench();
    writer.answer = () => Promise.reject(new ForbiddenError("a policy says no"));
    const expected = { result: "Forbidden", message: "a policy says no" };
    expect(await execute(makePatch())).toEqual(expected);
    expect(await execute(makePatch())).toEqual(expected);
    expect(writer.written).toHaveLength(1);
    await clock.run(10_000);
    expect(await execute(makePatch())).toEqual(expected);
    expect(writer.written).toHaveLength(2);
  });

  it("for what the operator owns outside of namespaces, and which is undone each time, waits as after a refusal", async () => {
    const { execute, writer, clock, lasting } = makeBench();
    const target = { ...makePatch().target, namespace: undefined } as unknown as Intent["target"];
    const again = makePatch("level", { verb: "apply", target });
    const times: number[] = [];
    for (let second = 0; second < 3_700; second++) {
      const outcome = await execute(again);
      if (outcome.result === "Executed") times.push(second);
      else
        expect(outcome).toMatchObject({
          result: "Blocked",
          message: expect.stringContaining("another writer") as unknown,
        });
      expect(lasting({ intent: again, outcome }) !== undefined).toBe(outcome.result === "Blocked" && second >= 3_600);
      clock.advance(1_000);
    }
    expect(times.slice(0, 7)).toEqual([0, 10, 30, 70, 150, 310, 610]);
    expect(writer.written).toHaveLength(times.length);
    // What the operator itself has changed since, nobody has undone.
    for (const intent of [{ ...again, body: { spec: { another: true } } }, again])
      expect(await execute(intent)).toEqual({ result: "Executed" });
  });

  it("without an answer fails after a minute", async () => {
    const bench = makeBench();
    bench.writer.answer = () => new Promise(() => undefined);
    const outcome = bench.execute(makePatch());
    await bench.clock.run(60_000);
    expect(await outcome).toMatchObject({ result: "Failed", message: "patch Deployment app timed out after 1m" });
  });
});

describe("a restart", () => {
  it("that was refused is shown to the plans of its namespace until it may be tried again", async () => {
    const { clock, writer, execute, pendingIn } = makeBench();
    writer.answer = () => Promise.reject(new WaitError("the budget is exhausted", 20_000));
    for (const intent of [makePatch(), makeEviction()]) await execute(intent);
    const untilMs = clock.now().getTime() + 20_000;
    expect(pendingIn("team")).toMatchObject([{ restart: { pod: "app-1" }, outcome: { result: "Blocked" }, untilMs }]);
    expect(pendingIn("shop")).toEqual([]);
    clock.advance(20_000);
    expect(pendingIn("team")).toEqual([]);
  });

  it("is recorded in status before the request", async () => {
    const bench = makeBench();
    let writtenBefore: unknown;
    bench.writer.answer = () => {
      writtenBefore = bench.store.writes.map(({ status }) => status.restarts);
      return Promise.resolve();
    };
    expect(await bench.execute(makeEviction())).toEqual({ result: "Executed" });
    expect(writtenBefore).toMatchObject([[{ podUID: "uid-of-app-1", outcome: "Requested" }]]);
    expect(outcomes(bench)).toEqual(["Restarted"]);
  });

  it("does not happen if it can't be recorded", async () => {
    const bench = makeBench();
    bench.store.put(bench.store.objects.get("team/app")!);
    expect(await bench.execute(makeEviction())).toMatchObject({ result: "Conflict" });
    bench.store.writeStatus = () => Promise.reject(new ForbiddenError("update controllerresiliences/status"));
    expect(await bench.execute(makeEviction())).toMatchObject({ result: "Forbidden" });
    expect([bench.writer.written, outcomes(bench)]).toEqual([[], []]);
    expect(await bench.isPacerFree()).toBe(true);
  });

  it("does not happen if the lead is lost while it is recorded; the entry stays for the next leader", async () => {
    const bench = makeBench();
    const { writeStatus } = bench.store;
    bench.store.writeStatus = (object, status) => {
      bench.leading.yes = false;
      return writeStatus(object, status);
    };
    expect(await bench.execute(makeEviction())).toEqual({ result: "NotLeader" });
    expect([bench.writer.written, outcomes(bench)]).toEqual([[], ["Requested"]]);
    expect(await bench.isPacerFree()).toBe(true);
  });

  it("waits for the next pass after another one of the workload, whose plan does not know of it", async () => {
    const bench = makeBench();
    await bench.execute(makeEviction("app-1"));
    bench.clock.advance(60_000);
    const waiting = { result: "Limited", limit: "SamePass", retryAfterMs: 10_000 };
    expect(await bench.execute(makeEviction("app-2"))).toEqual(waiting);
    const other = makeEviction("b-1", { restart: makeClaim("b-1", { workload: "Deployment/b" }) });
    expect(await bench.execute(other)).toEqual({ result: "Executed" });
    expect(bench.writer.written).toHaveLength(2);
  });

  it("waits for the restart pacer without live reads", async () => {
    const { isTried, isPacerFree } = makeBench();
    expect(await isTried(makeEviction())).toBe(true);
    await isPacerFree();
    expect(await isTried(makeEviction())).toBe(false);
  });

  it("without proof waits for the leader warm-up, unlike other intents", async () => {
    const bench = makeBench({}, undefined, ["team/other"]);
    const restart = makeClaim("app-1", { cause: "Unknown" });
    const waiting = { result: "Limited", limit: "LeaderWarmup", retryAfterMs: 2_000 };
    expect(await bench.execute(makeEviction("app-1", { restart }))).toEqual(waiting);
    expect([outcomes(bench), bench.writer.written, bench.asked]).toEqual([[], [], ["team/other"]]);
    expect(await bench.execute(makePatch())).toEqual({ result: "Executed" });
    bench.restarts.gone("team/other");
    expect(await bench.execute(makeEviction("app-1", { restart }))).toEqual({ result: "Executed" });
    const early = makeBench({}, undefined, ["team/other"]);
    expect(await early.execute(makeEviction())).toEqual({ result: "Executed" });
  });

  it.each([
    new WaitError("a PodDisruptionBudget says no", 5_000),
    new ForbiddenError("create pods/eviction"),
    new ConflictError("uid differs"),
    new GoneError("no such pod"),
    new UnauthorizedError("401"),
  ])("that is refused with %s uses no budget", async error => {
    const bench = makeBench();
    bench.writer.answer = () => Promise.reject(error);
    expect((await bench.execute(makeEviction())).result).not.toBe("Executed");
    expect(outcomes(bench)).toEqual([]);
    expect(await bench.isPacerFree()).toBe(true);
  });

  it("that is refused waits longer each time, up to five minutes; a success resets the delay", async () => {
    const bench = makeBench();
    const answer = async (error?: Error) => {
      bench.writer.answer = () => (error ? Promise.reject(error) : Promise.resolve());
      const outcome = await bench.execute(makePatch());
      const waitMs = "retryAfterMs" in outcome ? outcome.retryAfterMs : 0;
      bench.clock.advance(waitMs);
      return waitMs;
    };
    const waits = [];
    for (let i = 0; i < 7; i++) waits.push(await answer(new WaitError("no", 1_000)));
    expect(waits).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    expect(await answer(new WaitError("no", 400_000))).toBe(400_000);
    expect(await answer()).toBe(0);
    expect(await answer(new WaitError("no", 1_000))).toBe(10_000);
  });

  it.each([new TransientError("reset by peer"), new Error("what?"), new UnavailableError("503, try again", 1_000)])(
    "that ends in doubt (%s) counts as one",
    async error => {
      const bench = makeBench();
      bench.writer.answer = () => Promise.reject(error);
      expect(await bench.execute(makeEviction())).toMatchObject({ result: "Failed" });
      expect(outcomes(bench)).toEqual(["Requested"]);
      expect(await bench.isPacerFree()).toBe(false);
    },
  );

  it("with an unknown result each time is retried with growing delays, up to five minutes, and does not block others", async () => {
    const bench = makeBench();
    bench.writer.answer = () => Promise.reject(new TransientError("the API server answered 500"));
    const claim = { ...makeEviction().restart!, limits: { cooldownMs: 0, maxRestarts: 100 } };
    const eviction = makeEviction("app-1", { restart: claim });
    const triedAtSeconds: number[] = [];
    for (let second = 0; second <= 1_900; second += 5) {
      const before = bench.writer.written.length;
      expect(await bench.execute(eviction)).toMatchObject({ result: "Failed" });
      if (bench.writer.written.length > before) triedAtSeconds.push(second);
      // The remedy finds the same pod alive and takes its request back; the next pass wants it again.
      bench.withdrawAll();
      bench.clock.advance(5_000);
    }
    expect(triedAtSeconds).toEqual([0, 10, 30, 70, 150, 310, 610, 910, 1_210, 1_510, 1_810]);
    expect(await bench.isPacerFree()).toBe(true);
    expect(bench.log.lines.filter(({ level }) => level === "warn")).toHaveLength(11);
  });
});
