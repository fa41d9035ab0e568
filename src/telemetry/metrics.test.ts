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

  it("show when bindings expire, and nothing of those that are under renewal no longer", async () => {
    const metrics = new Metrics();
    const expiries = async () => (await samples(metrics)).filter(line => line.includes("_binding_expiry"));
    const edit = { kind: "RoleBinding", name: "edit", state: "Current", expiryTime: "2025-01-01T00:00:00Z" } as const;
    const view = { ...edit, kind: "ClusterRoleBinding", name: "view" } as const;
    metrics.bindings("kai/a", [edit, view, { kind: "RoleBinding", name: "for-ever", state: "Never" }]);
    metrics.bindings("kai/a", [{ ...edit, expiryTime: "2025-01-02T00:00:00Z" }]);
    expect(await expiries()).toEqual([
      'controller_resilience_binding_expiry_timestamp_seconds{namespace="kai",name="a",binding_kind="RoleBinding",binding="edit"} 1735776000',
    ]);
    metrics.bindings("kai/a", []);
    expect(await expiries()).toEqual([]);
  });

  it("show the rate of each ServiceAccount that has a flow, as long as an object tells of it", async () => {
    const metrics = new Metrics();
    const rates = async () =>
      (await samples(metrics))
        .filter(line => line.includes("_requests_per_second"))
        .map(line => line.slice(line.indexOf("{")));
    const flow = (serviceAccount: string, requestsPerSecond?: number) => ({ serviceAccount, requestsPerSecond });
    metrics.flows("kai/a", [flow("kai", 12.5), flow("new"), flow("web", 3)] as never);
    metrics.flows("kai/b", [flow("web", 4)] as never);
    metrics.flows("shop/a", [flow("web", 5)] as never);
    expect(await rates()).toEqual([
      '{namespace="kai",service_account="kai"} 12.5',
      '{namespace="kai",service_account="web"} 4',
      '{namespace="shop",service_account="web"} 5',
    ]);
    metrics.flows("kai/a", []);
    expect(await rates()).toEqual([
      '{namespace="kai",service_account="web"} 4',
      '{namespace="shop",service_account="web"} 5',
    ]);
    metrics.flows("kai/b", [flow("web")] as never);
    metrics.flows("shop/a", []);
    expect(await rates()).toEqual([]);
  });

  it("show no more flows of one object than are bearable", async () => {
    const metrics = new Metrics();
    const flows = Array.from({ length: 600 }, (_, i) => ({ serviceAccount: `s${i}`, requestsPerSecond: i }));
    metrics.flows("kai/a", flows);
    expect((await samples(metrics)).filter(line => line.includes("_requests_per_second"))).toHaveLength(500);
  });

  it("show no more bindings and flows of all objects together than are bearable, and others once there is room", async () => {
    const metrics = new Metrics();
    const bindings = Array.from({ length: 600 }, (_, i) => ({
      kind: "RoleBinding" as const,
      name: `b${i}`,
      state: "Current" as const,
      expiryTime: "2025-01-02T00:00:00Z",
    }));
    const flows = bindings.map(({ name }, i) => ({ serviceAccount: name, requestsPerSecond: i }));
    for (const name of ["a", "b", "c", "d", "e"]) metrics.bindings(`kai/${name}`, bindings);
    for (const name of ["a", "b", "c", "d", "e"]) metrics.flows(`${name}/it`, flows);
    const count = async (part: string): Promise<number> =>
      (await samples(metrics)).filter(line => line.includes(part)).length;
    expect(await count("_binding_expiry_")).toBe(2_000);
    expect(await count("_requests_per_second")).toBe(2_000);
    metrics.bindings("kai/a", []);
    metrics.bindings("kai/e", bindings);
    expect(await count('name="e"')).toBe(500);
    metrics.flows("a/it", []);
    metrics.flows("e/it", flows);
    expect(await count('namespace="e"')).toBe(500);
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
