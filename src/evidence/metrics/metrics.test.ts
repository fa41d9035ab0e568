import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PodMetricsTrack } from "../../core/pod-metrics";
import { rejectedSince, stuckQueues, stuckWorkers, watchesDeadSince, workedOn } from "./judge";
import { followPage, MetricsPage } from "./page";
import { pageOf, type Program } from "./testing/page";

const MINUTE = 60_000;

/** Reads a program every 30 s, from minute to minute; returns what is known at the end. */
function read(minutes: number, program: (minute: number) => Program, before?: PodMetricsTrack): PodMetricsTrack {
  const fromMs = before === undefined ? 0 : before.readMs + 30_000;
  let track = before;
  for (let ms = fromMs; ms <= fromMs + minutes * MINUTE; ms += 30_000)
    track = followPage(track, pageOf(program(ms / MINUTE)), ms);
  return track!;
}

const QUEUE = { name: "widget", depth: 3, done: 100, slowestSeconds: 1 };

describe("a page", () => {
  it("says what client-go, controller-runtime and cert-manager count", () => {
    const page = new MetricsPage("10.96.0.1:443");
    const text = `# HELP workqueue_depth Current depth of workqueue
workqueue_depth{controller="widget",name="widget",priority="0"} 2
workqueue_depth{controller="widget",name="widget",priority="-100"} 40
workqueue_work_duration_seconds_bucket{controller="widget",name="widget",le="0.1"} 5
workqueue_work_duration_seconds_bucket{controller="widget",name="widget",le="1"} 7
workqueue_work_duration_seconds_bucket{controller="widget",name="widget",le="10"} 7
workqueue_work_duration_seconds_bucket{controller="widget",name="widget",le="+Inf"} 7
workqueue_work_duration_seconds_sum{controller="widget",name="widget"} 1.5
workqueue_work_duration_seconds_count{controller="widget",name="widget"} 7
workqueue_longest_running_processor_seconds{controller="widget",name="widget"} 12.5
controller_runtime_reconcile_errors_total{controller="widget"} 2
certmanager_controller_sync_call_count{controller="certificates-issuing"} 4
rest_client_requests_total{code="200",host="10.96.0.1:443",method="GET"} 10
rest_client_requests_total{code="401",host="10.96.0.1:443",method="PUT"} 3
rest_client_requests_total{code="422",host="10.96.0.1:443",verb="PUT"} 1
leader_election_master_status{name="a"} 0
leader_election_master_status{name="b"} 1
process_start_time_seconds 1.79e+09
go_goroutines 12`;
    expect(text.split("\n").every(line => page.take(line))).toBe(true);
    const { queues, ...track } = followPage(undefined, page, 0);
    expect(track).toMatchObject({ startSeconds: 1.79e9, isLeader: true, requests: { isOwnServer: true } });
    expect(page.requests).toMatchObject({ gets: 10, puts: 4, accepted: 10, unauthorized: 3, refused: 4 });
    expect([...queues]).toMatchObject([
      ["widget", { depth: 42, done: { count: 9 }, slowestMs: 1_000, longestMs: 12_500 }],
      ["certificates-issuing", { depth: 0, done: { count: 4 }, slowestMs: Infinity, longestMs: 0 }],
    ]);
  });

  it.each(['workqueue_depth{name="a\\"b"} 1', 'workqueue_depth{name="a"}', "process_start_time_seconds "])(
    "is not read with the broken line %s",
    line => expect(new MetricsPage().take(line)).toBe(false),
  );

  it("says nothing without the start of its process", () => {
    for (const line of ["<!doctype html>", "process_start_time_seconds NaN", "process_start_time_seconds_total 3"]) {
      const page = new MetricsPage();
      page.take(line);
      expect(page.startSeconds).toBeNaN();
    }
  });

  it("keeps no name that could not stand in a message, and no more queues than a manager has", () => {
    const page = new MetricsPage();
    for (const name of ["a b", "<b>", "", "x".repeat(64), "ü"]) page.take(`workqueue_depth{name="${name}"} 1`);
    for (let i = 0; i < 1000; i++) page.take(`workqueue_depth{name="q${i}"} 1`);
    expect(page.queues.size).toBe(256);
    expect(page.queues.has("a b")).toBe(false);
  });
});

describe("a queue is stuck", () => {
  it("with items, and none finished for a quarter of an hour", () => {
    expect(stuckQueues(read(14.5, () => ({ queues: [QUEUE] })))).toEqual([]);
    const stuck = read(15, () => ({ queues: [QUEUE, { ...QUEUE, name: "gadget", depth: 0 }] }));
    expect(stuckQueues(stuck)).toEqual([{ queue: "widget", sinceMs: 0, depth: 3 }]);
    const later = (minute: number) => ({ queues: [{ ...QUEUE, depth: minute < 60 ? 0 : 3 }] });
    expect(stuckQueues(read(74.5, later))).toEqual([]);
  });

  it("not while items take ten minutes each", () => {
    const slow = (minute: number) => ({ ...QUEUE, done: Math.floor(minute / 10), slowestSeconds: 1_000 });
    for (let minutes = 0; minutes < 120; minutes += 7)
      expect(stuckQueues(read(minutes, minute => ({ queues: [slow(minute)] })))).toEqual([]);
    // Three times the longest that an item has taken.
    expect(stuckQueues(read(49, () => ({ queues: [slow(10)] })))).toEqual([]);
    expect(stuckQueues(read(50, () => ({ queues: [slow(10)] })))).toHaveLength(1);
  });

  it("with all workers busy and nothing waiting only after as long as a worker is stuck", () => {
    const full = { ...QUEUE, depth: 0, workers: [2, 2] } as const;
    expect(stuckQueues(read(29.5, () => ({ queues: [full] })))).toEqual([]);
    expect(stuckQueues(read(30, () => ({ queues: [full] })))).toEqual([{ queue: "widget", sinceMs: 0 }]);
    // Ten times the longest that an item has taken.
    expect(stuckQueues(read(160, () => ({ queues: [{ ...full, slowestSeconds: 1_000 }] })))).toEqual([]);
    expect(stuckQueues(read(170, () => ({ queues: [{ ...full, slowestSeconds: 1_000 }] })))).toHaveLength(1);
  });

  it.each<[string, NonNullable<Program["queues"]>[number]]>([
    ["one worker is idle", { ...QUEUE, depth: 0, workers: [3, 4] }],
    ["the number of workers is not known", { ...QUEUE, depth: 0, longestSeconds: 10_000 }],
    ["there are none", { ...QUEUE, depth: 0, workers: [0, 0] }],
    ["an item has taken longer than any bucket", { ...QUEUE, depth: 0, slowestSeconds: Infinity, workers: [1, 1] }],
  ])("but not while nothing waits and %s", (_, queue) =>
    expect(stuckQueues(read(300, () => ({ queues: [queue] })))).toEqual([]),
  );

  it("but not while all workers take ten minutes for each item, or one was idle for a moment", () => {
    const slow = (minute: number) => ({
      ...QUEUE,
      depth: 0,
      done: 50 + Math.floor(minute / 10),
      workers: [1, 1] as const,
    });
    expect(stuckQueues(read(100, minute => ({ queues: [slow(minute)] })))).toEqual([]);
    const rested = (minute: number) => ({ ...QUEUE, depth: 0, workers: [minute === 20 ? 0 : 1, 1] as const });
    expect(stuckQueues(read(45, minute => ({ queues: [rested(minute)] })))).toEqual([]);
  });

  it("first by what waits", () => {
    const full = { ...QUEUE, name: "a", depth: 0, workers: [1, 1] } as const;
    expect(stuckQueues(read(40, () => ({ queues: [full, QUEUE] }))).map(({ queue }) => queue)).toEqual(["widget", "a"]);
  });

  it.each([
    ["a process that never finished an item", { queues: [{ name: "widget", depth: 3, done: 0 }] }],
    ["one whose depth is not known", { queues: [{ name: "widget", done: 9, slowestSeconds: 1 }] }],
    ["one that has taken longer than any bucket", { queues: [{ ...QUEUE, slowestSeconds: Infinity }] }],
  ])("but not that of %s", (_, program) => expect(stuckQueues(read(300, () => program))).toEqual([]));

  it("again only after as long, when a reading is missing, the process is another one, or it has become the leader", () => {
    const stuck = read(14, () => ({ isLeader: true, queues: [QUEUE] }));
    const page = (startSeconds: number) => pageOf({ startSeconds, isLeader: true, queues: [QUEUE] });
    const later = (page_: ReturnType<typeof page>, ms: number) =>
      stuckQueues(followPage(stuck, page_, stuck.readMs + ms));
    expect(later(page(1), 100_000)).toHaveLength(1);
    expect(later(page(1), 101_000)).toEqual([]);
    expect(later(page(2), 100_000)).toEqual([]);
    const standby = read(14, () => ({ isLeader: false, queues: [QUEUE] }));
    expect(stuckQueues(followPage(standby, page(1), standby.readMs + 90_000))).toEqual([]);
  });
});

describe("a worker is stuck", () => {
  it("after half an hour with one item, or ten times the longest that one has taken", () => {
    const of = (seconds: number, slowestSeconds: number) =>
      stuckWorkers(read(1, () => ({ queues: [{ ...QUEUE, longestSeconds: seconds, slowestSeconds }] })));
    expect(of(1_800, 1)).toEqual([]);
    expect(of(1_801, 1)).toEqual([{ queue: "widget", sinceMs: MINUTE - 1_801_000 }]);
    expect(of(10_000, 1_000)).toEqual([]);
    expect(of(10_001, 1_000)).toHaveLength(1);
    expect(of(1e9, Infinity)).toEqual([]);
  });
});

describe("watches are dead", () => {
  /** A client with a watch that is opened again every nine minutes, until minute 70. */
  const hung = (minute: number): Program => ({
    isLeader: true,
    requests: { gets: Math.floor(Math.min(minute, 70) / 9), puts: 30 * minute, accepted: 30 * minute },
  });

  const asks = (minute: number, gets: number): Program => {
    return { ...hung(minute), requests: { ...hung(minute).requests!, gets } };
  };

  it("when no GET follows for eleven minutes while the Lease is renewed", () => {
    expect(watchesDeadSince(read(73.5, hung))).toBeUndefined();
    expect(watchesDeadSince(read(74, hung))).toBe(63 * MINUTE);
  });

  it.each<[string, (minute: number) => Program]>([
    ["a client that has not been followed for an hour", minute => hung(minute + 25)],
    ["one that stopped renewing its Lease, too", minute => hung(Math.min(minute, 70))],
    ["one without an election", minute => ({ requests: hung(minute).requests! })],
    ["one that went as long without a GET before", minute => asks(minute, minute > 62 ? 2 : minute > 40 ? 1 : 0)],
    ["one that never sent one", minute => asks(minute, 0)],
  ])("but not those of %s", (_, program) => expect(watchesDeadSince(read(75, program))).toBeUndefined());
});

describe("a process is rejected", () => {
  const dead = { gets: 1, puts: 0, accepted: 50 };
  it("when 401s grow, and nothing is accepted for two minutes", () => {
    const program = (minute: number): Program => ({ requests: { ...dead, unauthorized: 2 * minute } });
    expect(rejectedSince(read(2, program))).toBeUndefined();
    expect(rejectedSince(read(2.5, program))).toBe(30_000);
    const named = (minute: number): Program => ({
      requests: { ...program(minute).requests!, host: "kubernetes.default.svc" },
    });
    expect(rejectedSince(read(2.5, named))).toBe(30_000);
  });

  it.each<[string, (minute: number) => Partial<NonNullable<Program["requests"]>>]>([
    ["one that got a single 401", minute => ({ unauthorized: minute > 0 ? 1 : 0 })],
    ["one whose 401s ended", minute => ({ unauthorized: Math.min(minute, 2) })],
    ["one that is accepted now and then", minute => ({ accepted: Math.floor(minute), unauthorized: 9 * minute })],
    ["one that talks with two servers", minute => ({ unauthorized: minute, hosts: 2 })],
    [
      "one that talks with another cluster's API server",
      minute => ({ unauthorized: minute, host: "hub.example:6443" }),
    ],
    ["one that does not tell with whom", minute => ({ unauthorized: minute, host: "" })],
    ["one that gets 403s", minute => ({ forbidden: minute })],
  ])("but not %s", (_, counts) => {
    const program = (minute: number): Program => ({ requests: { ...dead, ...counts(minute) } });
    expect(rejectedSince(read(30, program))).toBeUndefined();
  });

  it("but not by two readings with a new 401, however far apart", () => {
    const twice = (minute: number): Program => ({
      requests: { ...dead, unauthorized: Math.min(2, Math.floor(minute / 1.5)) },
    });
    for (let minutes = 3; minutes < 8; minutes += 0.5) expect(rejectedSince(read(minutes, twice))).toBeUndefined();
  });
});

describe("work on a kind", () => {
  it("is what its own queue has finished while it was followed", () => {
    const queues = (minute: number) => [
      { ...QUEUE, name: "widget", done: Math.min(minute, 3) },
      { ...QUEUE, name: "gadget", done: minute },
      { ...QUEUE, name: "certificates-issuing", done: Math.min(minute, 4) },
      { ...QUEUE, name: "certificaterequests-approver", done: minute },
    ];
    const track = read(10, minute => ({ queues: queues(minute) }));
    expect(workedOn("Widget", [track])).toBe(3 * MINUTE);
    expect(workedOn("Certificate", [track])).toBe(4 * MINUTE);
    expect(workedOn("Thing", [track])).toBe(-Infinity);
    expect(workedOn("Widget", [read(10, () => ({ queues: queues(99) }))])).toBe(-Infinity);
  });
});

describe("pages of real programs", () => {
  const load = (file: string) => {
    const page = new MetricsPage("10.96.0.1:443");
    const text = readFileSync(join(__dirname, "../../../test/fixtures/pod-metrics", file), "utf8");
    expect(text.split("\n").every(line => page.take(line))).toBe(true);
    return page;
  };

  it("show a manager of controller-runtime whose workers all block", () => {
    const [first, later] = [load("controller-runtime-all-blocked-1.txt"), load("controller-runtime-all-blocked-2.txt")];
    expect(first).toMatchObject({ isLeader: true, requests: { gets: 45, puts: 94, accepted: 137, isOwnServer: true } });
    let track = followPage(undefined, first, 0);
    expect(track.queues.get("widget")).toMatchObject({ depth: 8, done: { count: 37 }, slowestMs: 10_000 });
    for (let ms = 30_000; ms <= 15 * MINUTE; ms += 30_000) track = followPage(track, later, ms);
    expect(stuckQueues(track)).toEqual([{ queue: "widget", sinceMs: 0, depth: 19 }]);
    expect(workedOn("Widget", [track])).toBe(-Infinity);
  });

  it("show kube-controller-manager 1.36, which tells neither who leads nor what it requests", () => {
    const page = load("kube-controller-manager.txt");
    const { queues, ...track } = followPage(undefined, page, 0);
    expect(track).toMatchObject({ isLeader: undefined, requests: undefined });
    expect(queues.get("serviceaccount")).toMatchObject({ depth: 0, done: { count: 5 }, longestMs: 0 });
    expect(queues.get("serviceaccount")?.slowestMs).toBeLessThanOrEqual(10_000);
    expect(queues.get("job")).toMatchObject({ depth: 0, done: { count: 0 }, longestMs: 0, slowestMs: Infinity });
  });
});
