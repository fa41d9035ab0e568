import { beforeEach, describe, expect, it } from "vitest";
import type { StallDetectionSpec } from "../../api/controller-resilience";
import { type DueObject, type KindQuestion, type KindReading, UNREAD_KIND } from "../../core/progress";
import { lease, Scene, workload } from "./testing/scene";

const MINUTE = 60_000;

let scene: Scene;
let asked: KindQuestion[];
let reading: KindReading;

/** A Widget that is due since some minutes ago, and was handled before. */
const widget = (minutes: number, over: Partial<DueObject> = {}): DueObject => ({
  ...{ namespace: "shop", name: "blue", createdMs: 0, generation: 7, observed: 6, wasDone: true },
  ...{ isLookedAt: false, dueMs: scene.clock.monotonicMs() - minutes * MINUTE },
  ...over,
});

/** The Widgets are read now, and one moved some minutes ago. */
const read = (due: readonly DueObject[], moved = 20, over: Partial<KindReading> = {}): void => {
  const readMs = scene.clock.monotonicMs();
  const times = { movedMs: readMs - moved * MINUTE, steadyMs: readMs - 60 * MINUTE };
  reading = { ...UNREAD_KIND, due, ...times, ...over };
};

const follow = (entry: Partial<NonNullable<StallDetectionSpec["progress"]>[number]> = {}, over = {}): void => {
  const progress = [{ apiVersion: "example.com/v1", kind: "Widget", for: "15m", ...entry }];
  scene = new Scene({ progress, ...over });
  scene.time.advance(3_600_000);
  scene.kind = question => {
    asked.push(question);
    return Promise.resolve(reading);
  };
};

beforeEach(() => {
  asked = [];
  follow();
  read([]);
});

const status = () => scene.object.status?.stalls;

describe("Progress", () => {
  it("names the object that is due, since when, and the last move of its kind", async () => {
    read([widget(16), widget(15, { name: "green" })], 18);
    const { message, status: is, reason } = await scene.pass();
    expect({ is, reason, message }).toEqual({
      ...{ is: "False", reason: "ProgressStopped" },
      message:
        "Widget shop/blue (generation 7, observed 6) and others are due since 2025-01-01T12:44:00Z; no Widget moved since 2025-01-01T12:42:00Z.",
    });
    expect(asked).toMatchObject([{ apiVersion: "example.com/v1", kind: "Widget" }]);
    const since = "2025-01-01T13:00:00Z";
    const entry = { workload: "Deployment/web", evidence: "Progress", object: "Widget shop/blue", since };
    expect(status()).toEqual([entry]);
    scene.time.advance(MINUTE);
    read([widget(17), ...[2, 3, 16].map(n => widget(n, { name: `more-${n}` }))], 19);
    expect((await scene.pass()).message).toBe(message);
    expect(status()).toEqual([entry]);
  });

  it.each([
    ["not due", () => read([])],
    ["due for less than its time", () => read([widget(14)])],
    ["due, and its kind moved", () => read([widget(30)], 14)],
    ["due since the readings began", () => read([widget(30)], 31, { steadyMs: scene.clock.monotonicMs() - MINUTE })],
    ["of a workload without pods", () => (read([widget(30)], 31), (scene.podList = []))],
    [
      "of a controller that just started",
      () => {
        read([widget(30)], 31);
        scene.restartContainer("web-5d-a");
      },
    ],
  ])("accuses nobody of what is %s", async (_, happens) => {
    happens();
    expect((await scene.pass()).reason).toMatch(/^(Active|NothingToDo)$/);
    expect(status()).toEqual([]);
  });

  it("gives a new leader its time", async () => {
    scene.podList = [scene.pod("web-5d-a"), scene.pod("web-5d-b")];
    scene.leaseList = [lease({ holder: "web-5d-a_1" })];
    scene.renewer = "web-5d-a_1";
    await scene.run(60);
    scene.lead("web-5d-b_2");
    await scene.run(60);
    read([widget(30)], 31);
    expect((await scene.pass()).reason).toBe("Active");
    await scene.run(900);
    read([widget(46)], 47);
    expect((await scene.pass()).reason).toBe("ProgressStopped");
  });

  it("belongs to the workload with a queue of the kind, else to all of them: all must be able to work", async () => {
    follow({}, { metrics: {} });
    scene.workloadList = [workload({ name: "db", uid: "d" }), workload()];
    scene.object.spec.targets = ["db", "web"].map(name => ({ kind: "Deployment", name }));
    read([widget(30)], 31);
    await scene.pass();
    expect(status()).toEqual([]);
    const db = { ...scene.pod("db-7"), owner: { kind: "ReplicaSet", name: "db-5d", uid: "rd" } } as const;
    scene.podList = [...scene.podList, db];
    await scene.run(60);
    read([widget(31)], 32);
    const { message } = await scene.pass();
    expect(message).toMatch(
      / Deployment\/db or Deployment\/web should handle it\. Of 2 workloads: 1 ProgressStopped, 1 Active\.$/,
    );
    expect(status()).toMatchObject([{ workload: "Deployment/db" }]);
    scene.pages.set("web-5d-a", { queues: [{ name: "widget", depth: 0, done: 5 }] });
    await scene.run(60);
    read([widget(31)], 32);
    expect((await scene.pass()).message).not.toContain("should handle");
    expect(status()).toMatchObject([{ workload: "Deployment/web" }]);
  });

  it("is told of a kind that was quiet for hours, if its status was written since the pod was created", async () => {
    const [{ createdAtMs = 0 } = {}] = scene.podList;
    read([widget(16)], Infinity, { writtenMs: createdAtMs });
    const before = await scene.pass();
    expect([before.reason, before.message]).toEqual([
      "Active",
      "Widget shop/blue is due since 2025-01-01T12:44:00Z, which proves nothing: no controller was seen to handle a Widget.",
    ]);
    read([widget(60)], Infinity, { writtenMs: createdAtMs + 1_000 });
    const { reason, message } = await scene.pass();
    expect([reason, message]).toEqual([
      "ProgressStopped",
      "Widget shop/blue (generation 7, observed 6) is due since 2025-01-01T12:00:00Z or earlier; no Widget moved since 2025-01-01T11:00:01Z.",
    ]);
  });

  it.each([
    ["a webhook", 'admission webhook "v.example.com" denied the request: no'],
    ["validation", 'Widget.example.com "blue" is invalid: status.x: Required value'],
    ["a quota", 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1'],
    [
      "missing rights",
      'widgets.example.com "blue" is forbidden: User "system:serviceaccount:team:web" cannot update resource "widgets/status" in API group "example.com" in the namespace "shop"',
    ],
  ])("accuses nobody whose writes are refused by %s", async (_, why) => {
    let seconds = 0;
    await scene.run(
      300,
      () => (seconds += 10) % 30 === 0 && scene.log(`E0101 controller.go:1] "Reconciler error" err="${why}"`),
    );
    read([widget(30)], 31);
    expect((await scene.pass()).message).toBe(
      "The log of Deployment/web shows that its writes are refused, so it proves nothing that objects of kind Widget are due.",
    );
  });

  it.each([
    [
      { due: "object.x ==" },
      "Observation incomplete: due of Widget does not compile: Unexpected token: EOF at character 12.",
    ],
    [{ apiVersion: undefined }, "Observation incomplete: kind Widget is not well known: expected an apiVersion."],
  ])("says what is wrong with %j, and disturbs nothing else", async (entry, message) => {
    follow(entry as object);
    expect(await scene.pass()).toMatchObject({ status: "Unknown", reason: "ObserveFailed", message });
    expect(asked).toEqual([]);
  });

  it("says why a kind is not known, and keeps what was found until something moves, through failures and a new leader", async () => {
    read([widget(16)], 18);
    await scene.pass();
    const before = status();
    expect(before).toHaveLength(1);
    read([widget(16)], 18, { unknown: { forbidden: true, message: "may not" } });
    const message = "Observation incomplete: may not.";
    expect(await scene.pass()).toMatchObject({ status: "Unknown", reason: "Forbidden", message });
    expect(status()).toEqual(before);
    scene.failOver();
    read(young(), Infinity, { steadyMs: scene.clock.monotonicMs() - MINUTE });
    expect((await scene.pass()).reason).toBe("ProgressStopped");
    expect(status()).toEqual(before);
  });

  const young = (over: Partial<DueObject> = {}): DueObject[] => [widget(1, { wasDone: false, ...over })];

  it.each([
    ["another object of its name came", () => read(young({ createdMs: scene.nowMs + 1 }), Infinity)],
    ["its kind moved, also before this process", () => read(young(), Infinity, { writtenMs: scene.nowMs + 6_000 })],
  ])("takes back what an earlier process found if %s", async (_, happens) => {
    read([widget(16)], 18);
    await scene.pass();
    scene.failOver();
    read(young(), Infinity, { writtenMs: scene.nowMs });
    expect((await scene.pass()).reason).toBe("ProgressStopped");
    happens();
    expect((await scene.pass()).reason).toBe("Active");
    expect(status()).toEqual([]);
  });

  it("names an object if due fits none, and reads nothing without kinds", async () => {
    read([], 20, { unanswered: "shop/blue" });
    expect((await scene.pass()).message).toBe(
      "due of Widget has no answer for any object, such as shop/blue: it fails, or a field that it names is missing.",
    );
    follow({}, { progress: [] });
    asked = [];
    await scene.pass();
    expect(asked).toEqual([]);
  });
});
