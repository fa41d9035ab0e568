import { describe, expect, it } from "vitest";
import { ConditionType } from "../../api/conditions";
import type { ControllerResilienceStatus } from "../../api/controller-resilience";
import { ConflictError, ForbiddenError, TerminalError, TransientError, WaitError } from "../../core/errors";
import type { Key } from "../../core/ports";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeObject } from "../testing/fakes";
import { KEY, makePassBench, type PassSetup } from "../testing/reconciler";
import { makeRestarts } from "../../restarts/testing/ledger";
import { makeDecision, makeEviction, makePatch, makeReaders, makeRemedy, specWith } from "../testing/remedies";

const REJECTED = makeDecision({ status: "False", reason: "Rejected", message: "Pod app-1 is rejected." });

function makeBench(setup: PassSetup = {}) {
  const clock = new FakeClock();
  const restarts = makeRestarts(clock);
  clock.advance(10_000);
  const answered: Key[] = [];
  const [load, gone] = [restarts.load.bind(restarts), restarts.gone.bind(restarts)];
  restarts.load = (key, object) => (answered.push(key), load(key, object));
  restarts.gone = key => {
    answered.push(key);
    gone(key);
  };
  const trouble: { clock: string | null } = { clock: null };
  const readers = makeReaders(clock);
  const bench = makePassBench({ clock, restarts, readers, clockTrouble: () => trouble.clock, ...setup });
  const current = () => bench.store.objects.get(KEY)?.status ?? {};
  const conditions = () =>
    Object.fromEntries((current().conditions ?? []).map(({ type, status, reason }) => [type, `${status}/${reason}`]));
  const message = (type: string) => bench.condition(type)?.message ?? "";
  const reasons = () => bench.events.records.splice(0).map(({ reason, regarding }) => `${reason} on ${regarding.kind}`);
  return { ...bench, readers, answered, trouble, current, conditions, message, reasons };
}

describe("a wrong clock of the operator", () => {
  const trouble = "the operator's clock is about 210 s ahead of an API server's";

  it.each([
    ["takes no True for granted", makeDecision(), "Unknown/ObserveFailed"],
    ["leaves what is False as it is", REJECTED, "False/Rejected"],
  ])("%s, and needs a person: what rests on the clock waits", async (_, decision, expected) => {
    const bench = makeBench({ remedies: [makeRemedy(decision)] });
    bench.trouble.clock = trouble;
    await bench.pass();
    const { TokensAccepted, Stalled } = bench.conditions();
    expect([TokensAccepted, Stalled]).toEqual([expected, "True/ObserveFailed"]);
  });
});

describe("a pass over a healthy object", () => {
  it("writes the complete status once, and nothing more without changes", async () => {
    const bench = makeBench();
    expect(await bench.pass()).toEqual({ next: "recheck" });
    expect(bench.current()).toMatchObject({ observedGeneration: 1, mode: "Enforce", restartsTotal: 0 });
    expect(bench.conditions()).toEqual({
      Ready: "True/AllHold",
      TokensAccepted: "True/Accepted",
      Reconciling: "False/Idle",
      Stalled: "False/Idle",
    });
    expect(bench.reasons()).toEqual(["Accepted on ControllerResilience"]);
    bench.clock.advance(60_000);
    await bench.pass();
    expect([bench.store.writes.length, bench.reasons()]).toEqual([1, []]);
  });

  it("has an id in every line of its log", async () => {
    const bench = makeBench({ remedies: [makeRemedy(makeDecision({ intents: [makePatch()] }))] });
    await bench.pass();
    expect(bench.log.lines.length).toBeGreaterThan(0);
    for (const line of bench.log.lines) expect(line.fields).toMatchObject({ key: KEY, pass: "40000000" });
  });

  it("writes and exports the status lists of active remedies, and drops those of a remedy that is off", async () => {
    const targets = [{ kind: "Deployment", name: "app", pods: 1, rejectedPods: 0 }];
    const status: ControllerResilienceStatus = { bindings: [{ state: "Current", kind: "RoleBinding", name: "old" }] };
    const absent = makeRemedy(makeDecision(), { name: "binding-renewal", block: "bindingRenewal", owns: "bindings" });
    const bench = makeBench({ remedies: [makeRemedy(makeDecision({ lists: { targets } })), absent], status });
    await bench.pass();
    expect(bench.current()).toMatchObject({ targets });
    expect(bench.metrics.statuses.get(KEY)?.targets).toEqual(targets);
    expect(bench.current()).not.toHaveProperty("bindings");
  });
});

it("an object that is deleted or terminating is forgotten by the remedies and the metrics, and nothing is written", async () => {
  const forgotten: string[] = [];
  const remedies = [
    makeRemedy(makeDecision(), {
      forget: () => {
        throw new Error("a bug");
      },
    }),
    makeRemedy(makeDecision(), { block: "flowIsolation", forget: key => forgotten.push(key) }),
  ];
  const bench = makeBench({ remedies });
  await bench.pass();
  expect(bench.metrics.shown.size).toBeGreaterThan(0);
  const object = bench.store.objects.get(KEY)!;
  bench.store.put({ ...object, metadata: { ...object.metadata, deletionTimestamp: "2025-01-01T00:00:00Z" } });
  expect(await bench.pass()).toEqual({ next: "forget" });
  bench.reconciler.forget(KEY);
  expect([forgotten, bench.metrics.shown.size, bench.store.writes.length]).toEqual([[KEY], 0, 1]);
  bench.store.objects.clear();
  expect(await bench.pass()).toEqual({ next: "forget" });
});

it("a suspended object is neither observed nor planned, and reports that", async () => {
  const remedy = makeRemedy(makeDecision({ intents: [makePatch()] }), {
    observe: () => Promise.reject(new Error("must not be called")),
    whileSuspended: () => "A trial is open.",
  });
  const other = makeRemedy(makeDecision(), {
    name: "flow-isolation",
    block: "flowIsolation",
    condition: "FlowsIsolated",
  });
  const removed = makeRemedy(makeDecision(), {
    name: "token-lifetime",
    block: "tokenLifetime",
    condition: "TokenLifetimeBounded",
    whileSuspended: () => "Another is open.",
  });
  const bench = makeBench({
    remedies: [remedy, other, removed],
    spec: { ...specWith("tokenRestart", "flowIsolation"), suspend: true },
  });
  expect(await bench.pass()).toEqual({ next: "recheck" });
  expect(bench.conditions()).toEqual({
    Ready: "Unknown/Suspended",
    TokensAccepted: "Unknown/Suspended",
    FlowsIsolated: "Unknown/Suspended",
    TokenLifetimeBounded: "Unknown/Suspended",
    Reconciling: "False/Suspended",
    Stalled: "False/Suspended",
  });
  expect(bench.message("TokensAccepted")).toMatch(/spec.suspend is true.* A trial is open.$/);
  expect(bench.message("FlowsIsolated")).not.toContain("trial");
  expect([bench.writer.written, bench.log.lines]).toEqual([[], []]);
});

describe("a remedy that fails", () => {
  const healthy = makeRemedy(makeDecision(), {
    block: "flowIsolation",
    name: "flow",
    condition: ConditionType.FlowsIsolated,
  });
  const spec = specWith("tokenRestart", "flowIsolation");

  const RETRY = { next: "retry", conflict: false };
  const fails = (error: Error) => () => Promise.reject(error);

  it.each<[string, () => Promise<unknown>, string, object]>([
    ["throws", fails(new TransientError("get pods: reset")), "ObserveFailed", RETRY],
    ["lacks a right", fails(new ForbiddenError("list pods")), "Forbidden", { next: "recheck" }],
    ["is asked to wait", fails(new WaitError("slow", 7_000)), "ObserveFailed", { next: "recheck", afterMs: 7_000 }],
    ["hangs", () => new Promise(() => undefined), "ObserveFailed", RETRY],
  ])("that %s while observing does not affect other remedies", async (_how, observe, reason, expected) => {
    const bench = makeBench({ remedies: [makeRemedy(makeDecision(), { observe }), healthy], spec });
    const result = bench.pass();
    await bench.clock.run(45_000);
    expect(await result).toEqual(expected);
    expect(bench.conditions()).toMatchObject({
      Ready: `Unknown/${reason}`,
      TokensAccepted: `Unknown/${reason}`,
      FlowsIsolated: "True/Accepted",
      Stalled: reason === "Forbidden" ? "True/Forbidden" : "False/Idle",
    });
  });

  it("tells of no failure that is over within half a minute, and of one that lasts", async () => {
    let tries = 0;
    let isDown = false;
    const failure = () => Promise.reject(new TransientError("list pods: HTTP 503"));
    const observe = () => (isDown || tries++ % 2 === 1 ? failure() : Promise.resolve("facts"));
    const rejected = makeDecision({ ...REJECTED, progressing: true });
    const bench = makeBench({ remedies: [makeRemedy(rejected, { observe })], spec });
    const next = async (): Promise<unknown> => {
      const { next: then } = await bench.pass();
      await bench.clock.run(20_000);
      return [bench.conditions()["TokensAccepted"], then];
    };
    for (let pass = 0; pass < 5; pass++) expect(await next()).toContain("False/Rejected");
    expect([bench.store.writes.length, bench.conditions()["Reconciling"]]).toEqual([1, "True/Progressing"]);
    isDown = true;
    expect(await next()).toEqual(["False/Rejected", "retry"]);
    expect(await next()).toEqual(["False/Rejected", "retry"]);
    expect(await next()).toEqual(["Unknown/ObserveFailed", "retry"]);
    [isDown, tries] = [false, 0];
    expect(await next()).toContain("False/Rejected");
  });

  it("tells of one obstacle as long as it comes back, however else reads fail meanwhile", async () => {
    let tries = 0;
    const ways = ["list pods: HTTP 503", "get deployments app: timed out after 30 s", "list pods: socket hang up"];
    const observe = () => Promise.reject(new TransientError(ways[tries++ % 3]!));
    const bench = makeBench({ remedies: [makeRemedy(makeDecision(), { observe })], spec });
    const told = new Set<string>();
    for (let pass = 0; pass < 90; pass++) {
      await bench.pass();
      told.add(bench.message("TokensAccepted"));
      await bench.clock.run(10_000);
    }
    expect([[...told], bench.store.writes.length]).toEqual([
      ["No action until reads succeed: list pods: HTTP 503."],
      1,
    ]);
    ways.fill("list pods: HTTP 500");
    for (let minute = 0; minute < 9; minute++) {
      await bench.clock.run(60_000);
      await bench.pass();
    }
    expect(bench.message("TokensAccepted")).toContain("HTTP 503");
    await bench.clock.run(60_000);
    await bench.pass();
    expect(bench.message("TokensAccepted")).toContain("HTTP 500");
    ways.fill("list pods: HTTP 502");
    bench.store.put(makeObject(KEY, spec, { ...bench.current(), observedGeneration: 0 }));
    await bench.pass();
    expect(bench.message("TokensAccepted")).toContain("HTTP 502");
  });

  it("tells at once of one that only a person can end", async () => {
    const failures = [new TransientError("list pods: HTTP 503"), new TerminalError("list pods: no such resource")];
    const observe = () => Promise.reject(failures.shift()!);
    const bench = makeBench({ remedies: [makeRemedy(makeDecision(), { observe })], spec });
    await bench.pass();
    await bench.pass();
    const message = "No action until reads succeed: list pods: no such resource.";
    expect([bench.message("TokensAccepted"), bench.message("Stalled")]).toEqual([
      message,
      expect.stringContaining(message),
    ]);
  });

  it("tells of one failure of a write as long as it comes back", async () => {
    let tries = 0;
    const remedy = makeRemedy(makeDecision({ intents: [makePatch("app")] }));
    const bench = makeBench({ remedies: [remedy] });
    bench.writer.answer = () => Promise.reject(new TransientError(["HTTP 503", "socket hang up"][tries++ % 2]!));
    for (let minute = 0; minute < 30; minute++) {
      await bench.pass();
      await bench.clock.run(60_000);
    }
    expect([tries > 20, bench.store.writes.length]).toEqual([true, 1]);
    expect(bench.message("TokensAccepted")).toContain("HTTP 503");
    expect(JSON.stringify(bench.log.lines)).toContain("socket hang up");
  });

  const why = "No action until reads succeed: list pods: expired (410).";
  it.each([
    ["its reads have failed", () => Promise.reject(new TransientError("list pods: expired (410)"))],
    ["it has reported that it knows nothing", () => Promise.resolve("facts")],
  ])("is Stalled once %s for an hour, with a way out, until it knows", async (_how, blind) => {
    let isBlind = true;
    const decide = () => makeDecision(isBlind ? { status: "Unknown", reason: "ObserveFailed", message: why } : {});
    const observe = () => (isBlind ? blind() : Promise.resolve("facts"));
    const bench = makeBench({ remedies: [makeRemedy(decide, { observe })], spec });
    const stalledAfter = async (ms: number): Promise<unknown> => {
      await bench.clock.run(ms);
      await bench.pass();
      return bench.conditions()["Stalled"];
    };
    expect(await stalledAfter(0)).toBe("False/Idle");
    expect(await stalledAfter(3_599_000)).toBe("False/Idle");
    expect(await stalledAfter(1_000)).toMatch(/^True/);
    expect(bench.message("Stalled")).toBe(
      `${why} It has been Unknown for an hour: see the operator's log. For a slow API server, set --watch-namespaces.`,
    );
    isBlind = false;
    expect(await stalledAfter(1_000)).toBe("False/Idle");
  });

  it("is Stalled with its own words once it has been Unknown for an hour for another reason than a read", async () => {
    const bench = makeBench({
      remedies: [makeRemedy(makeDecision({ status: "Unknown", message: "Pod app is in doubt." }))],
    });
    await bench.pass();
    await bench.clock.run(3_600_000);
    await bench.pass();
    expect(bench.message("Stalled")).toBe("Pod app is in doubt. It has been Unknown for an hour.");
  });

  it("is not Stalled for a write that failed once, and since then is only observed or not tried", async () => {
    const decide = () => makeDecision({ intents: [makePatch("app")] });
    const bench = makeBench({ remedies: [makeRemedy(decide, { conclude: decision => decision })] });
    bench.writer.answer = () => Promise.reject(new TransientError("patch deployments app: timeout"));
    await bench.pass();
    bench.store.put(makeObject(KEY, { ...specWith("tokenRestart"), mode: "Observe" }));
    await bench.clock.run(5_400_000);
    await bench.pass();
    expect(bench.conditions()["Stalled"]).toBe("False/Idle");
  });

  it.each([
    new TransientError("patch deployments app: the webhook does not answer"),
    new ConflictError("patch deployments app: the webhook does not answer"),
  ])("is Stalled once a write has failed for an hour, whatever its body was, until one succeeds: %s", async error => {
    let body = 0;
    const decide = () => makeDecision({ intents: [makePatch("app", { body: { try: body++ } })] });
    const bench = makeBench({ remedies: [makeRemedy(decide, { conclude: decision => decision })] });
    bench.writer.answer = () => Promise.reject(error);
    for (let minute = 0; minute < 60; minute++) {
      await bench.pass();
      expect(bench.conditions()["Stalled"]).toBe("False/Idle");
      await bench.clock.run(60_000);
    }
    await bench.pass();
    expect(bench.conditions()["Stalled"]).toBe("True/Accepted");
    expect(bench.message("Stalled")).toBe(
      "patch Deployment app: patch deployments app: the webhook does not answer; it has failed for an hour, and is tried again.",
    );
    bench.writer.answer = () => Promise.resolve();
    await bench.pass();
    expect(bench.conditions()["Stalled"]).toBe("False/Idle");
  });

  it("names what it could not read, but never quotes a foreign error", async () => {
    const failing = (error: Error) => makeRemedy(makeDecision(), { observe: fails(error) });
    const known = makeBench({ remedies: [failing(new ForbiddenError("the operator may not list pods"))] });
    await known.pass();
    expect(known.message("TokensAccepted")).toContain("may not list pods");
    const unknown = makeBench({ remedies: [failing(new SyntaxError("bad token 'secret' in log"))] });
    await unknown.pass();
    expect(JSON.stringify([unknown.current(), unknown.log.lines])).not.toContain("secret");
    expect(unknown.message("TokensAccepted")).toContain("SyntaxError");
  });

  const bug = (): never => {
    throw new Error("secret log line");
  };

  it.each<[string, () => unknown]>([
    ["throws", bug],
    ["gives nothing", () => undefined],
    ["wants something while it is Unknown", () => makeDecision({ status: "Unknown", intents: [makePatch()] })],
  ])("that %s while planning does not affect other remedies, and is logged with its stack", async (_how, decide) => {
    const bench = makeBench({ remedies: [makeRemedy(decide as never), healthy], spec });
    expect(await bench.pass()).toEqual({ next: "recheck" });
    expect(bench.conditions()).toMatchObject({
      Ready: "Unknown/DecideFailed",
      TokensAccepted: "Unknown/DecideFailed",
      FlowsIsolated: "True/Accepted",
    });
    const line = bench.log.lines.find(({ level }) => level === "error");
    expect((line?.fields["stack"] as string[])[0]).toMatch(/^at /);
    expect(JSON.stringify([bench.log.lines, bench.current()])).not.toContain("secret");
    expect(bench.writer.written).toEqual([]);
  });
});

describe("a restart", () => {
  const remedies = [makeRemedy({ ...REJECTED, intents: [makeEviction()] })];

  it("does not happen while status can't be written", async () => {
    const bench = makeBench({ remedies });
    bench.store.writeStatus = () => Promise.reject(new ConflictError("changed"));
    expect(await bench.pass()).toEqual({ next: "retry", conflict: true });
    expect(bench.writer.written).toEqual([]);
    // A changed or deleted object is no reason to warn.
    expect(bench.log.lines.at(-1)).toMatchObject({ level: "info", message: "pass ended early" });
  });

  it("that is refused leaves no entry in status, and is retried when the server says", async () => {
    const bench = makeBench({ remedies });
    bench.writer.answer = () => Promise.reject(new WaitError("a PodDisruptionBudget says no", 20_000));
    expect(await bench.pass()).toEqual({ next: "recheck", afterMs: 20_000 });
    expect(bench.current()).toMatchObject({ restartsTotal: 0 });
    expect(bench.current()).not.toHaveProperty("restarts");
    expect(bench.message("TokensAccepted")).toContain("a PodDisruptionBudget says no");
  });

  it("of a block that was removed is unconfirmed ten minutes later: no remedy watches the successor", async () => {
    const remedy = makeRemedy({ ...REJECTED, intents: [makeEviction()] });
    const bench = makeBench({ remedies: [remedy] });
    bench.writer.answer = () => Promise.reject(new TransientError("reset"));
    await bench.pass();
    bench.store.put(makeObject(KEY, specWith("stallDetection"), bench.current()));
    await bench.pass();
    expect(bench.current()).toMatchObject({ restarts: [{ outcome: "Restarted" }] });
    bench.clock.advance(600_000);
    await bench.pass();
    expect(bench.current()).toMatchObject({ restarts: [{ outcome: "Replaced" }], restartsTotal: 1 });
  });

  it("is known from an object that was read, whatever the result of its pass, but not without the lead", async () => {
    const failing = makeRemedy(makeDecision(), { observe: () => Promise.reject(new TransientError("away")) });
    const { answered, leading, pass, store } = makeBench({ remedies: [failing] });
    leading.yes = false;
    await pass();
    expect(answered).toEqual([]);
    leading.yes = true;
    await pass();
    const readAndWritten = [KEY, KEY];
    expect(answered).toEqual(readAndWritten);
    store.objects.clear();
    await pass();
    expect(answered).toEqual([...readAndWritten, KEY]);
    store.get = () => Promise.reject(new TransientError("away"));
    await pass();
    expect(answered).toEqual([...readAndWritten, KEY]);
  });

  it("is known although the Namespace of its object cannot be read, so that it holds back none elsewhere", async () => {
    const bench = makeBench();
    bench.readers.namespace = () => Promise.reject(new TransientError("get namespaces: 500"));
    bench.leading.yes = false;
    await bench.pass();
    expect(bench.answered).toEqual([]);
    bench.leading.yes = true;
    expect(await bench.pass()).toMatchObject({ next: "retry" });
    expect([bench.answered, bench.store.writes]).toEqual([[KEY], []]);
  });
});

it.each<[unknown, object]>([
  [new TransientError("reset"), { next: "retry", conflict: false }],
  [new WaitError("slow", 3_000), { next: "wait", afterMs: 3_000 }],
  [new ForbiddenError("get controllerresiliences"), { next: "give-up" }],
  [new RangeError("a bug"), { next: "retry", conflict: false }],
])("errors of the API %s on reading the object ends the pass", async (error, expected) => {
  const bench = makeBench();
  bench.store.get = () => {
    throw error;
  };
  expect(await bench.pass()).toEqual(expected);
});

it.each(["get", "writeStatus"] as const)("ends after half a minute if %s hangs", async call => {
  const bench = makeBench();
  Object.assign(bench.store, { [call]: () => new Promise(() => undefined) });
  const result = bench.pass();
  await bench.clock.run(30_000);
  expect(await result).toEqual({ next: "retry", conflict: false });
});

describe("a loss of the lead", () => {
  it("while observing prevents all writes", async () => {
    const bench = makeBench({
      remedies: [
        makeRemedy(makeDecision({ intents: [makePatch()] }), {
          observe: () => {
            bench.leading.yes = false;
            return Promise.resolve();
          },
        }),
      ],
    });
    await bench.pass();
    expect([bench.writer.written, bench.store.writes, bench.reasons(), bench.metrics.seen]).toEqual([[], [], [], []]);
  });

  it("during a write prevents further writes, but the write is reported", async () => {
    const bench = makeBench({ remedies: [makeRemedy(makeDecision({ intents: [makePatch("a"), makePatch("b")] }))] });
    bench.writer.answer = () => {
      bench.leading.yes = false;
      return Promise.resolve();
    };
    await bench.pass();
    expect([bench.writer.written.length, bench.store.writes]).toEqual([1, []]);
    expect(bench.reasons()).toEqual(["Patched on Deployment"]);
  });
});
