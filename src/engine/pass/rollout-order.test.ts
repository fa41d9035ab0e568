import { expect, it } from "vitest";
import type { DaemonSetStatus } from "../../api/controller-resilience";
import { FakeClock } from "../../core/testing/fake-clock";
import { ObjectSession } from "../object/object-session";
import {
  makeObject,
  MemoryObjects,
  RecordingEvents,
  RecordingLog,
  RecordingMetrics,
  RecordingWriter,
} from "../testing/fakes";
import { makeReconciler } from "../testing/reconciler";
import { makeDecision, makeReaders, makeRemedy } from "../testing/remedies";
import { makeRestarts } from "../../restarts/testing/ledger";

const TEMPLATE = { mode: "Enforce", tokenLifetime: {} as never } as const;

it("a rollout lets the next one begin with the pass that reports its end, and holds it from the pass that reports its begin", async () => {
  const clock = new FakeClock();
  const store = new MemoryObjects();
  for (const key of ["team/a", "shop/b"]) store.put(makeObject(key, TEMPLATE));
  const restarts = makeRestarts(clock);
  clock.advance(10_000);
  let outcome: DaemonSetStatus["outcome"] = "Rolling";
  const report = () => makeDecision({ lists: { daemonSets: [{ name: "agent", outcome }] } });
  const remedy = makeRemedy(report, { block: "tokenLifetime", owns: "daemonSets", condition: "TokenLifetimeBounded" });
  const reconciler = makeReconciler({
    ...{ store, writer: new RecordingWriter(), events: new RecordingEvents(), readers: makeReaders(clock) },
    ...{ remedies: [remedy], restarts, log: new RecordingLog(), metrics: new RecordingMetrics(), random: () => 0.25 },
  });
  const waits = async (): Promise<boolean> => {
    const other = (await store.get("shop/b"))!;
    return (
      restarts.settle(new ObjectSession(other, store, clock)).rolloutDeferral({ workload: "DaemonSet/agent" }) !==
      undefined
    );
  };
  expect(await waits()).toBe(false);
  await reconciler.reconcile("team/a", () => true);
  expect(await waits()).toBe(true);
  outcome = "Bounded";
  await reconciler.reconcile("team/a", () => true);
  expect(await waits()).toBe(false);
});

it("neither begins nor goes on after its trial while the operator has trouble of its own, such as a clock that is off", async () => {
  const clock = new FakeClock();
  const store = new MemoryObjects();
  for (const key of ["team/a", "shop/b"]) store.put(makeObject(key, TEMPLATE));
  let sinceMs = 0;
  const restarts = makeRestarts(clock, undefined, { sinceOwnTroubleMs: () => sinceMs });
  clock.advance(10_000);
  const ledger = restarts.settle(new ObjectSession((await store.get("team/a"))!, store, clock));
  const limits = () =>
    [{}, { goesOn: true as const }].map(
      more => ledger.rolloutDeferral({ workload: "DaemonSet/agent", ...more })?.limit,
    );
  expect(limits()).toEqual(["OwnTrouble", "OwnTrouble"]);
  sinceMs = Infinity;
  expect(limits()).toEqual([undefined, undefined]);
  const status = { daemonSets: [{ name: "agent", outcome: "Trial" as const }] };
  restarts.load("shop/b", { ...(await store.get("shop/b"))!, status });
  expect(limits()).toEqual(["Rollout", undefined]);
});
