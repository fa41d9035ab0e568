import { describe, expect, it } from "vitest";
import type { ControllerResilience, ControllerResilienceStatus, RestartStatus } from "../api/controller-resilience";
import type { RestartClaim } from "../core/intent";
import type { Key } from "../core/ports";
import { FakeClock } from "../core/testing/fake-clock";
import { ObjectSession } from "../engine/object/object-session";
import { makeObject, MemoryObjects } from "../engine/testing/fakes";
import { makePassBench } from "../engine/testing/reconciler";
import { makeDecision, makeEviction, makeRemedy, specWith } from "../engine/testing/remedies";
import { makeRestarts } from "./testing/ledger";
import { checkRestartBudget } from "./history";
import type { ObjectRestarts } from "./ledger";

const MINUTE = 60_000;

function makeBench(status?: ControllerResilienceStatus) {
  const clock = new FakeClock();
  const restarts = makeRestarts(clock);
  const store = new MemoryObjects();
  const session = new ObjectSession(store.put(makeObject("team/app", {}, status)), store, clock);
  return { clock, restarts, store, session };
}

function claimOf(pod: string, workload = "Deployment/app"): RestartClaim {
  return { ...makeEviction(pod).restart!, workload };
}

function entry(pod: string, outcome: RestartStatus["outcome"], ago = 0): RestartStatus {
  const time = new Date(new FakeClock().now().getTime() - ago).toISOString();
  return { pod, podUID: pod, workload: "Deployment/app", time, cause: "ServiceAccountRecreated", outcome };
}

function recorded(restarts: ObjectRestarts): readonly RestartStatus[] {
  return restarts.status().restarts ?? [];
}

describe("a restart", () => {
  it.each(["ServiceAccountRecreated", "SigningKeyRotated"] as const)(
    "for %s follows another after 2 s",
    async cause => {
      const { clock, restarts, session } = makeBench();
      clock.advance(2_000);
      const ofObject = restarts.settle(session);
      const first = await ofObject.request(claimOf("app-1"));
      if (first.result === "Requested") first.end("Executed");
      const next = { ...claimOf("b-1", "Deployment/b"), cause };
      expect(await ofObject.request(next)).toMatchObject({ limit: "RestartPacer", retryAfterMs: 2_000 });
    },
  );

  it("finds room in status, also when the record is long", async () => {
    const long = Array.from({ length: 2_000 }, (_, i) => entry(`old-${i}`, "Ineffective", i * MINUTE));
    const { clock, restarts, session, store } = makeBench({ restarts: long });
    clock.advance(10_000);
    await restarts.settle(session).request(claimOf("other", "Deployment/other"));
    const written = store.writes.at(-1)?.status.restarts ?? [];
    expect([written.length, written.at(-1)?.pod]).toEqual([400, "other"]);
  });

  it("that was refused does not count, although status could not be written again", async () => {
    const { clock, restarts, session, store } = makeBench();
    clock.advance(10_000);
    const request = await restarts.settle(session).request(claimOf("app-1"));
    if (request.result === "Requested") request.end("Refused");
    // The pass ends early. In the next one the pod is gone, as if the eviction had been carried out.
    const object = store.objects.get("team/app")!;
    expect(object.status?.restarts).toMatchObject([{ pod: "app-1", outcome: "Requested" }]);
    const settled = object.status!.restarts!.map(one => ({ ...one, outcome: "Restarted" as const }));
    const next = new ObjectSession(object, store, clock);
    const ofObject = restarts.settle(next, [{ causes: settled.map(({ cause }) => cause), restarts: settled }]);
    expect(recorded(ofObject)).toEqual([]);
    expect(ofObject.status()).toEqual({ restarts: [], restartsTotal: 0 });
  });
});

it("the status of an object has the outcomes that remedies settled, and counts restarts that were confirmed in this pass", () => {
  const before = [entry("a", "Restarted", 3 * MINUTE), entry("b", "Requested", 2 * MINUTE)];
  const { restarts, session } = makeBench({ restarts: before, restartsTotal: 7 });
  const after = [entry("a", "Recovered", 3 * MINUTE), entry("b", "Restarted", 2 * MINUTE)];
  // A plan returns all restarts, those of other causes as they were.
  const settled = ["ServiceAccountRecreated", "LeaseNotRenewed"].map(cause => ({ causes: [cause], restarts: after }));
  expect(restarts.settle(session, settled).status()).toEqual({ restarts: after, restartsTotal: 8 });
});

describe("an object that is deleted and created again", () => {
  it("has the restarts of its predecessor, so that its budget is not renewed", async () => {
    const clock = new FakeClock();
    let [pod, known]: [number, readonly RestartStatus[]] = [0, []];
    const observe = ({ status }: ControllerResilience) => Promise.resolve((known = status?.restarts ?? []));
    const decide = () => {
      const eviction = makeEviction(`app-${pod++}`);
      const isAllowed = checkRestartBudget(known, eviction.restart!, clock.now()) === undefined;
      return makeDecision({ status: "False", reason: "Rejected", intents: isAllowed ? [eviction] : [] });
    };
    const remedy = makeRemedy(decide, { observe: observe as never });
    const { store, writer, pass } = makePassBench({ clock, remedies: [remedy] });
    const create = (uid: string) => {
      const object = makeObject("team/app", specWith("tokenRestart"));
      store.put({ ...object, metadata: { ...object.metadata, uid } });
    };
    create("u0");
    for (let minute = 1; minute <= 50; minute++) {
      clock.advance(MINUTE);
      if (minute % 3 === 0) {
        store.objects.delete("team/app");
        if (minute % 2 === 0) await pass();
        create(`u${minute}`);
      }
      await pass();
    }
    expect(writer.written).toHaveLength(3);
    expect(store.objects.get("team/app")?.status?.restarts).toHaveLength(3);
    expect(store.objects.get("team/app")?.status?.restartsTotal).toBe(0);
  });

  it("has its own restarts, if it has some, and those of no object of another name", () => {
    const { restarts } = makeBench();
    const load = (key: Key, uid: string, pods: string[]) => {
      const made = makeObject(key, {}, { restarts: pods.map(pod => entry(pod, "Recovered")) });
      const { status } = restarts.load(key, { ...made, metadata: { ...made.metadata, uid } });
      return status?.restarts?.map(({ pod }) => pod);
    };
    expect(load("team/a", "u1", ["p1"])).toEqual(["p1"]);
    expect(load("team/b", "u2", [])).toEqual([]);
    expect(load("other/a", "u3", [])).toEqual([]);
    expect(load("team/a", "u4", [])).toEqual(["p1"]);
    expect(load("team/a", "u4", ["p2"])).toEqual(["p2"]);
    expect(load("team/a", "u4", [])).toEqual([]);
    expect(load("team/a", "u5", [])).toEqual([]);
  });
});
