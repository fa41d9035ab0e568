import { describe, expect, it } from "vitest";
import { BusyClock } from "../core/testing/busy-clock";
import { FakeClock } from "../core/testing/fake-clock";
import { Metrics } from "./metrics";

/** The samples, without help and type. */
async function samples(metrics: Metrics): Promise<string[]> {
  return (await metrics.text()).split("\n").filter(line => line !== "" && !line.startsWith("#"));
}

describe("the metrics", () => {
  it("count what the engine and the adapters do", async () => {
    const metrics = new Metrics();
    metrics.reconciled("success", 0.2);
    metrics.queueDepth(3, 4);
    metrics.intent("token-restart", "evict", "Executed");
    metrics.leader(true);
    metrics.leaseTransition("renew-failed");
    metrics.restartDeferred("Canary");
    metrics.breakerTripped(true);
    metrics.watchEnded("pods", "stalled");
    metrics.relisted("pods");
    metrics.watchAge("pods", 12.5);
    metrics.logRead("truncated", 100);
    metrics.eventLost();
    expect(await samples(metrics)).toEqual(
      expect.arrayContaining([
        'controller_resilience_reconciles_total{result="success"} 1',
        'controller_resilience_reconcile_duration_seconds_bucket{le="0.25"} 1',
        'controller_resilience_reconcile_duration_seconds_bucket{le="0.1"} 0',
        'controller_resilience_queue_depth{state="waiting"} 3',
        'controller_resilience_queue_depth{state="delayed"} 4',
        'controller_resilience_intents_total{remedy="token-restart",verb="evict",result="Executed"} 1',
        "controller_resilience_leader 1",
        'controller_resilience_lease_transitions_total{event="renew-failed"} 1',
        'controller_resilience_restarts_deferred_total{limit="Canary"} 1',
        "controller_resilience_restart_breaker_tripped 1",
        'controller_resilience_watch_ends_total{resource="pods",reason="stalled"} 1',
        'controller_resilience_watch_relists_total{resource="pods"} 1',
        'controller_resilience_watch_age_seconds{resource="pods"} 12.5',
        'controller_resilience_log_reads_total{result="truncated"} 1',
        "controller_resilience_log_read_bytes_total 100",
        "controller_resilience_events_lost_total 1",
      ]),
    );
  });

  it("show each condition once, as it is now", async () => {
    const metrics = new Metrics();
    const conditions = async () => (await samples(metrics)).filter(line => line.includes("_condition{"));
    metrics.condition("kai/a", "Ready", "True");
    metrics.condition("kai/a", "Ready", "False");
    metrics.condition("kai/a", "Stalled", "False");
    expect(await conditions()).toEqual([
      'controller_resilience_condition{namespace="kai",name="a",type="Ready",status="False"} 1',
      'controller_resilience_condition{namespace="kai",name="a",type="Stalled",status="False"} 1',
    ]);
    metrics.condition("kai/a", "Ready", null);
    metrics.condition("kai/a", "Stalled", null);
    metrics.condition("kai/a", "Stalled", null);
    expect(await conditions()).toEqual([]);
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
    for (const name of ["a", "b", "c"]) metrics.condition(`kai/${name}`, "Ready", "True");
    const text = await metrics.text();
    expect(text).not.toContain('name="c"');
    expect(text).toContain("controller_resilience_conditions_dropped_total 1");
    metrics.condition("kai/a", "Ready", null);
    metrics.condition("kai/c", "Ready", "True");
    expect(await metrics.text()).toContain('name="c"');
  });

  it("follow Prometheus' conventions: counters end in _total, and every metric says what it is", async () => {
    const lines = (await new Metrics({ processMetrics: false }).text()).split("\n");
    const [helps, types] = ["HELP", "TYPE"].map(what => lines.filter(line => line.startsWith(`# ${what} `)));
    expect(helps?.length).toBeGreaterThan(15);
    expect(types?.length).toBe(helps?.length);
    for (const line of helps ?? []) expect(line).toMatch(/^# HELP controller_resilience_[a-z_]+ .*\.$/);
    for (const line of types ?? []) expect(line.includes("_total ")).toBe(line.endsWith(" counter"));
  });
});
