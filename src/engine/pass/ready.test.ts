import { describe, expect, it } from "vitest";
import { ConditionType } from "../../api/conditions";
import type { Report } from "../../core/remedy";
import { conditionUpdates, passMode } from "./ready";
import { makeReport, makeDecision, makeEviction, makePatch, makeRemedy } from "../testing/remedies";
import { FINALIZER } from "../../api/names";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { NamespaceView } from "../../core/views";
import { EmptyReaders } from "../../core/testing/empty-readers";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeObject } from "../testing/fakes";
import { KEY, makePassBench } from "../testing/reconciler";

const TYPES = [ConditionType.TokensAccepted, ConditionType.BindingsCurrent, ConditionType.FlowsIsolated];

function summary(decisions: readonly Partial<Report>[]) {
  const verdicts = decisions.map((changes, i) => ({ condition: TYPES[i]!, report: makeReport(changes) }));
  const updates = conditionUpdates(verdicts, { suspended: false, mode: "Enforce" });
  return Object.fromEntries(updates.map(({ type, status, reason }) => [type, `${status}/${reason}`]));
}

describe("Ready", () => {
  const [unknown, rejected] = [
    { status: "Unknown", reason: "ObserveFailed" },
    { status: "False", reason: "Rejected" },
  ];

  it.each([
    [
      "False with the reason of the first that is False, even after an Unknown",
      [unknown, rejected, { status: "False", reason: "NothingToDo" }],
      "False/Rejected",
    ],
    ["Unknown when none is False and one is Unknown", [{}, unknown], "Unknown/ObserveFailed"],
    ["True when no remedy is on", [], "True/NothingToDo"],
  ])("is %s", (_, reports, expected) => {
    expect(summary(reports as Partial<Report>[])).toMatchObject({
      Ready: expected,
      Reconciling: "False/Idle",
      Stalled: "False/Idle",
    });
  });

  it("says nothing of the mode that the spec asks for", () => {
    const report = makeReport({ status: "True" });
    const [ready] = conditionUpdates([{ condition: "TokensAccepted", report }], { suspended: false, mode: "Observe" });
    expect(ready).toMatchObject({ status: "True", reason: "AllHold", message: "All remedies report True." });
  });
});

describe("Reconciling and Stalled", () => {
  it("are True while work is in progress, or a person must act, and never together", () => {
    const stalled = { reason: "RestartsExhausted", message: "Look at it." } as const;
    const isStalled = { Reconciling: "False/Idle", Stalled: "True/RestartsExhausted" };
    expect(summary([{ progressing: true }])).toMatchObject({ Reconciling: "True/Progressing", Stalled: "False/Idle" });
    expect(summary([{ stalled }])).toMatchObject(isStalled);
    expect(summary([{ progressing: true }, { stalled }])).toMatchObject(isStalled);
  });
});

/** A cluster with one Namespace. */
class Cluster extends EmptyReaders {
  skip = false;
  failure: Error | undefined;
  asked: string[] = [];
  override namespace(name: string): Promise<NamespaceView | null> {
    this.asked.push(name);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve({ namespace: "", name, uid: "u", labels: {}, annotations: {}, skip: this.skip });
  }
}

describe("the mode of a pass", () => {
  const modeOf = (spec: object, operator: "Enforce" | "Observe", changes: Partial<Cluster> = {}) =>
    passMode(makeObject(KEY, spec), operator, Object.assign(new Cluster(new FakeClock()), changes));

  it("is the operator's if it observes, then that of the spec, then of the Namespace", async () => {
    const skipped = { skip: true };
    expect(await modeOf({ mode: "Observe" }, "Observe", skipped)).toBe("OperatorObserves");
    expect(await modeOf({ mode: "Observe" }, "Enforce", skipped)).toBe("Observe");
    expect(await modeOf({ mode: "Enforce" }, "Enforce", skipped)).toBe("NamespaceSkipped");
    expect(await modeOf({ mode: "Enforce" }, "Enforce")).toBe("Enforce");
  });

  it("is Observe for a mode that only a later version knows", async () => {
    expect(await modeOf({ mode: "Later" }, "Enforce")).toBe("Observe");
  });

  it("is Enforce where the Namespace is forbidden, and unknown while it cannot be read", async () => {
    expect(await modeOf({}, "Enforce", { failure: new ForbiddenError("no") })).toBe("Enforce");
    await expect(modeOf({}, "Enforce", { failure: new TransientError("no") })).rejects.toThrow(TransientError);
  });
});

function makeBench(mode: "Enforce" | "Observe" = "Enforce") {
  const clock = new FakeClock();
  const readers = new Cluster(clock);
  const decide = () =>
    makeDecision({ status: "False", reason: "Rejected", intents: [makeEviction()], needsCleanup: true });
  const remedies = [makeRemedy(decide, { cleanUp: () => Promise.resolve([makePatch("flow")]) })];
  return { ...makePassBench({ clock, readers, remedies, mode }), readers };
}

describe("a pass that only observes", () => {
  it.each<["the operator" | "the Namespace", string]>([
    ["the operator", "the operator runs with --mode=Observe"],
    ["the Namespace", "the Namespace has the annotation controller-resilience.io/skip"],
  ])("because of %s writes status only, counts no restart, and says why", async (whose, why) => {
    const bench = makeBench(whose === "the operator" ? "Observe" : "Enforce");
    bench.readers.skip = whose === "the Namespace";
    await bench.pass();
    expect(bench.writer.written).toEqual([]);
    expect(bench.metrics.seen).toContain("intent:token-restart:evict:Observed");
    const { status, metadata } = bench.object();
    expect([status?.restarts ?? [], metadata.finalizers ?? []]).toEqual([[], []]);
    expect(status?.conditions?.find(({ type }) => type === "Ready")?.message).toBe(`Fine. Only observed: ${why}.`);
  });

  it("still removes what was made for an object that is deleted, or has lost its block", async () => {
    for (const changes of [{ deletionTimestamp: "2025-01-01T00:00:00Z" }, {}]) {
      const bench = makeBench("Observe");
      const { metadata, spec } = bench.object();
      const withoutBlock = { ...spec, tokenRestart: undefined as never };
      const changed = { ...metadata, ...changes, finalizers: [FINALIZER] };
      bench.store.put({ ...bench.object(), metadata: changed, spec: withoutBlock });
      await bench.pass();
      expect(bench.writer.written.map(({ target }) => target.name)).toEqual(["flow"]);
    }
  });

  it("does nothing while the Namespace cannot be read, and is retried", async () => {
    const bench = makeBench();
    bench.readers.failure = new TransientError("get namespaces team: no answer");
    expect(await bench.pass()).toMatchObject({ next: "retry" });
    expect([bench.writer.written, bench.store.writes]).toEqual([[], []]);
  });
});
