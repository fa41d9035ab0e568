import { describe, expect, it } from "vitest";
import type { ControllerResilienceSpec } from "../../api/controller-resilience";
import { FINALIZER } from "../../api/names";
import { ForbiddenError, TransientError } from "../../core/errors";
import type { Intent } from "../../core/intent";
import type { FakeRemedy } from "../testing/fake-remedy";
import { makeObject } from "../testing/fakes";
import { KEY, makePassBench } from "../testing/reconciler";
import { makeDecision, makeRemedy, specWith } from "../testing/remedies";

const GONE = "2025-01-01T00:00:10Z";

function intent(verb: "apply" | "delete", name: string): Intent {
  const target = { apiVersion: "flowcontrol.apiserver.k8s.io/v1", kind: "FlowSchema", name };
  const uid = verb === "delete" ? { uid: `uid-of-${name}` } : {};
  return { verb, target: { ...target, ...uid }, body: { spec: {} }, why: "It must be so.", eventReason: "Changed" };
}

/** A remedy that makes one flow schema, in a cluster that has what was written. */
function makeMaker(changes: Partial<FakeRemedy> = {}) {
  const made = new Set<string>();
  const remedy = makeRemedy(
    () =>
      makeDecision({
        reason: "Current",
        needsCleanup: true,
        intents: made.has("flow") ? [] : [intent("apply", "flow")],
      }),
    {
      name: "flow-isolation",
      block: "flowIsolation",
      permissions: [
        { apiGroup: "flowcontrol.apiserver.k8s.io", resource: "flowschemas", verbs: ["patch", "delete"], why: "" },
      ],
      cleanUp: () => Promise.resolve([...made].map(name => intent("delete", name))),
      ...changes,
    },
  );
  return { made, remedy };
}

function makeBench(maker = makeMaker(), spec: Partial<ControllerResilienceSpec> = specWith("flowIsolation")) {
  const bench = makePassBench({ spec, remedies: [maker.remedy] });
  const { store, writer } = bench;
  const order: string[] = [];
  const finalizers = () => store.objects.get(KEY)?.metadata.finalizers ?? [];
  writer.answer = ({ verb, target }) => {
    order.push(`${verb} ${target.name}${finalizers().includes(FINALIZER) ? "" : " without finalizer"}`);
    if (verb === "delete") maker.made.delete(target.name);
    else maker.made.add(target.name);
    return Promise.resolve();
  };
  const change = (what: { spec?: Partial<ControllerResilienceSpec>; deletionTimestamp?: string }) => {
    const object = bench.object();
    const { deletionTimestamp } = what;
    const generation = object.metadata.generation + 1;
    const metadata = {
      ...object.metadata,
      generation,
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    };
    store.put({ ...object, metadata, spec: { ...makeObject(KEY).spec, ...(what.spec ?? object.spec) } });
  };
  return { ...bench, order, finalizers, change, made: maker.made };
}

describe("an object with created objects outside its namespace", () => {
  it("has the finalizer before anything is created, and keeps it", async () => {
    const bench = makeBench();
    await bench.pass();
    await bench.pass();
    expect(bench.order).toEqual(["apply flow"]);
    expect(bench.finalizers()).toEqual([FINALIZER]);
  });

  it("gets no finalizer in Observe mode, nor while it is suspended", async () => {
    for (const spec of [{ mode: "Observe" as const }, { suspend: true }]) {
      const bench = makeBench(makeMaker(), { ...specWith("flowIsolation"), ...spec });
      await bench.pass();
      expect([bench.finalizers(), bench.order]).toEqual([[], []]);
    }
  });

  it("gets nothing created without the right to add the finalizer, and reports that", async () => {
    const bench = makeBench();
    bench.store.setFinalizer = () => Promise.reject(new ForbiddenError("patch controllerresiliences: forbidden"));
    expect(await bench.pass()).toMatchObject({ next: "recheck" });
    expect(bench.order).toEqual([]);
    expect(bench.condition("Stalled")?.message).toContain("patch controllerresiliences: forbidden");
  });
});

describe("an object that is deleted", () => {
  it("is released when its created objects are deleted", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.change({ deletionTimestamp: GONE });
    expect(await bench.pass()).toEqual({ next: "recheck", afterMs: 1_000 });
    expect(bench.condition("Reconciling")).toMatchObject({ status: "True", reason: "CleaningUp" });
    expect(await bench.pass()).toEqual({ next: "forget" });
    expect(bench.order).toEqual(["apply flow", "delete flow"]);
    expect(bench.store.objects.has(KEY)).toBe(false);
  });

  it("is cleaned up in any mode, suspended or not", async () => {
    for (const spec of [{ mode: "Observe" as const }, { suspend: true }]) {
      const bench = makeBench();
      await bench.pass();
      bench.change({ spec: { ...specWith("flowIsolation"), ...spec }, deletionTimestamp: GONE });
      await bench.pass();
      await bench.pass();
      expect([...bench.made, ...bench.store.objects.keys()]).toEqual([]);
    }
  });

  it("stays while a resource can't be listed, and names it", async () => {
    let fails = true;
    const maker = makeMaker();
    const { remedy } = makeMaker({
      cleanUp: (object, from) =>
        fails
          ? Promise.reject(new TransientError("list flowschemas: no answer"))
          : (maker.remedy.cleanUp?.(object, from) ?? Promise.resolve([])),
    });
    const bench = makeBench({ made: maker.made, remedy });
    await bench.pass();
    bench.change({ deletionTimestamp: GONE });
    expect(await bench.pass()).toEqual({ next: "retry", conflict: false });
    expect(bench.finalizers()).toEqual([FINALIZER]);
    expect(bench.condition("Stalled")).toMatchObject({ status: "True", reason: "CleaningUp" });
    expect(bench.condition("Stalled")?.message).toContain("list flowschemas: no answer");
    fails = false;
    await bench.pass();
    await bench.pass();
    expect(bench.store.objects.has(KEY)).toBe(false);
  });

  it("stays if the lead is lost while its created objects are looked for, which needs the lead", async () => {
    let leads = true;
    let looks = 0;
    const cleanUp = () => {
      looks++;
      leads = false;
      return Promise.resolve([]);
    };
    const bench = makeBench(makeMaker({ cleanUp }));
    await bench.pass();
    bench.change({ deletionTimestamp: GONE });
    for (let pass = 0; pass < 2; pass++) expect(await bench.pass(() => leads)).toEqual({ next: "recheck" });
    expect([looks, bench.finalizers()]).toEqual([1, [FINALIZER]]);
  });

  it("stays while something can't be deleted", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.writer.answer = () => Promise.reject(new ForbiddenError("delete flowschemas flow: forbidden"));
    bench.change({ deletionTimestamp: GONE });
    await bench.pass();
    await bench.pass();
    expect(bench.finalizers()).toEqual([FINALIZER]);
    expect(bench.condition("Stalled")?.message).toContain("delete flowschemas flow: forbidden");
  });
});

describe("an object whose block was removed", () => {
  it("loses its created objects, then the finalizer", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.change({ spec: {} });
    await bench.pass();
    expect(bench.order).toEqual(["apply flow", "delete flow"]);
    expect(bench.finalizers()).toEqual([FINALIZER]);
    await bench.pass();
    expect(bench.finalizers()).toEqual([]);
  });

  it("keeps the finalizer if the lead is lost while status is written", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.change({ spec: {} });
    await bench.pass();
    bench.change({ spec: {} });
    const { writeStatus } = bench.store;
    let leads = true;
    bench.store.writeStatus = (...given) => writeStatus(...given).finally(() => (leads = false));
    await bench.pass(() => leads);
    expect([leads, bench.finalizers()]).toEqual([false, [FINALIZER]]);
    await bench.pass();
    expect(bench.finalizers()).toEqual([]);
  });

  it("loses the finalizer in Observe mode, too, and after the end of a suspension", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.change({ spec: { suspend: true } });
    await bench.pass();
    expect([[...bench.made], bench.finalizers()]).toEqual([["flow"], [FINALIZER]]);
    bench.change({ spec: { mode: "Observe" } });
    await bench.pass();
    await bench.pass();
    expect([[...bench.made], bench.finalizers()]).toEqual([[], []]);
  });

  it("reports what can't be deleted, and does not search repeatedly", async () => {
    const bench = makeBench();
    await bench.pass();
    bench.writer.answer = () => Promise.reject(new ForbiddenError("delete flowschemas flow: forbidden"));
    bench.change({ spec: {} });
    expect(await bench.pass()).toEqual({ next: "recheck" });
    expect(bench.condition("Ready")).toMatchObject({ status: "False", reason: "CleaningUp" });
    expect(bench.condition("Stalled")).toMatchObject({ status: "True", reason: "CleaningUp" });
    expect(bench.condition("Stalled")?.message).toContain("delete flowschemas flow: forbidden");
    expect(bench.finalizers()).toEqual([FINALIZER]);
  });

  it("keeps the finalizer while its remedy can't list its objects", async () => {
    let isKnown = true;
    const maker = makeMaker({
      observe: () => (isKnown ? Promise.resolve("facts") : Promise.reject(new TransientError("no answer"))),
    });
    const bench = makeBench(maker);
    await bench.pass();
    isKnown = false;
    await bench.pass();
    expect(bench.finalizers()).toEqual([FINALIZER]);
  });
});
