import { describe, expect, it } from "vitest";
import { BusyClock } from "../core/testing/busy-clock";
import { FakeClock } from "../core/testing/fake-clock";
import { Metrics } from "./metrics";

const TRUE = { status: "True", reason: "AllHold" } as const;
const FALSE = { status: "False", reason: "Rejected" } as const;
const OF_A = 'kind="ControllerResilience",namespace="kai",name="a"';

/** The samples, without help and type. */
async function samples(metrics: Metrics): Promise<string[]> {
  return (await metrics.text()).split("\n").filter(line => line !== "" && !line.startsWith("#"));
}

describe("the metrics", () => {
  it("count what the engine and the adapters do", async () => {
    const metrics = new Metrics();
    metrics.loop("c").reconciled("success", 0.2);
    metrics.show("identity_rejected", 1);
    metrics.count("rest_client_requests_total", { method: "GET", code: "200" });
    metrics.count("intents_total", { remedy: "token-restart", verb: "evict", result: "Executed" });
    metrics.show("log_rounds", [{ labels: { state: "unknown" }, value: 1 }]);
    metrics.show("log_rounds", [{ labels: { state: "quiet" }, value: 1 }]);
    for (const ageMs of [12_500, 3_000, null]) metrics.watchAge("pods", () => ageMs);
    metrics.count("log_read_bytes_total", {}, 100);
    expect(await samples(metrics)).toEqual(
      expect.arrayContaining([
        'controller_resilience_reconciles_total{controller="c",result="success"} 1',
        'controller_resilience_reconciles_total{controller="c",result="error"} 0',
        'controller_resilience_reconcile_duration_seconds_bucket{le="0.25",controller="c"} 1',
        'controller_resilience_reconcile_duration_seconds_bucket{le="0.1",controller="c"} 0',
        "controller_resilience_identity_rejected 1",
        'rest_client_requests_total{method="GET",code="200"} 1',
        'controller_resilience_intents_total{remedy="token-restart",verb="evict",result="Executed"} 1',
        "controller_resilience_leader 0",
        'controller_resilience_log_rounds{state="quiet"} 1',
        'controller_resilience_watch_age_seconds{resource="pods"} 12.5',
        "controller_resilience_log_read_bytes_total 100",
        "controller_resilience_events_lost_total 0",
      ]),
    );
  });

  it("show each condition once, as it is now", async () => {
    const metrics = new Metrics();
    const conditions = async () => (await samples(metrics)).filter(line => line.includes("_condition{"));
    const [ready, stalled] = [{ type: "Ready" }, { type: "Stalled" }];
    metrics.conditions("kai/a", [{ ...ready, ...TRUE }]);
    metrics.conditions("kai/a", [
      { ...ready, ...FALSE },
      { ...stalled, ...FALSE },
    ]);
    expect(await conditions()).toEqual([
      `controller_resilience_condition{${OF_A},type="Ready",status="False",reason="Rejected"} 1`,
      `controller_resilience_condition{${OF_A},type="Stalled",status="False",reason="Rejected"} 1`,
    ]);
    metrics.conditions("kai/a", [{ ...stalled, ...FALSE }]);
    expect(await conditions()).toEqual([
      `controller_resilience_condition{${OF_A},type="Stalled",status="False",reason="Rejected"} 1`,
    ]);
    metrics.conditions("kai/a", []);
    metrics.conditions("kai/a", []);
    metrics.conditions("/default", [{ ...ready, ...TRUE }]);
    expect(await conditions()).toEqual([
      'controller_resilience_condition{kind="ClusterControllerResilience",namespace="",name="default",type="Ready",status="True",reason="AllHold"} 1',
    ]);
  });

  it("let others have their turn while they are written down", async () => {
    const clock = new BusyClock(new FakeClock());
    const text = await new Metrics({ clock }).text();
    expect(clock.turns).toBeGreaterThan(10);
    expect(text).toBe(await new Metrics().text());
    const lines = text.split("\n").filter(line => line !== "");
    expect(new Set(lines).size).toBe(lines.length);
    const families = lines.flatMap(line => /^# TYPE (\S+) /.exec(line)?.[1] ?? []);
    expect(new Set(families).size).toBe(families.length);
    const series = lines.filter(line => !line.startsWith("#")).map(line => line.replace(/[{ ].*/, ""));
    for (const name of series) expect(families).toContain(name.replace(/_(bucket|sum|count)$/, ""));
  });

  it("stay bounded, whoever creates however many objects", async () => {
    const metrics = new Metrics({ maxObjects: 2 });
    for (const name of ["a", "b", "c"]) metrics.conditions(`kai/${name}`, [{ type: "Ready", ...TRUE }]);
    const text = await metrics.text();
    expect(text).not.toContain('name="c"');
    expect(text).toContain("controller_resilience_conditions_dropped_total 1");
    metrics.conditions("kai/a", []);
    metrics.conditions("kai/c", [{ type: "Ready", ...TRUE }]);
    expect(await metrics.text()).toContain('name="c"');
  });

  it("follow a work queue as client-go does", async () => {
    const metrics = new Metrics();
    const loop = metrics.loop("c");
    const queue = async () => (await samples(metrics)).filter(line => /^workqueue_[a-z_]+\{name="c"\}/.test(line));
    const counters = ['workqueue_adds_total{name="c"} 0', 'workqueue_retries_total{name="c"} 0'];
    expect(await queue()).toEqual(counters);
    loop.ofQueue(() => ({ depth: 3, workingSeconds: [1, 2.5] }));
    loop.added();
    loop.retried();
    loop.taken(2);
    loop.done(0.5);
    expect(await queue()).toEqual([
      'workqueue_adds_total{name="c"} 1',
      'workqueue_retries_total{name="c"} 1',
      'workqueue_queue_duration_seconds_sum{name="c"} 2',
      'workqueue_queue_duration_seconds_count{name="c"} 1',
      'workqueue_work_duration_seconds_sum{name="c"} 0.5',
      'workqueue_work_duration_seconds_count{name="c"} 1',
      'workqueue_depth{name="c"} 3',
      'workqueue_unfinished_work_seconds{name="c"} 3.5',
      'workqueue_longest_running_processor_seconds{name="c"} 2.5',
    ]);
  });
});
