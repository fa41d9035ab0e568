import type { ControllerResilienceSpec, ControllerResilienceStatus } from "../../src/api/controller-resilience";
import { createRemedies } from "../../src/remedies/registry";
import { Metrics } from "../../src/telemetry/metrics";

/** The operator's metrics as main.ts makes them. */
export function makeMetrics(): Metrics {
  return new Metrics({ processMetrics: true, gauges: createRemedies().flatMap(({ gauges = [] }) => gauges) });
}

const TIME = "2025-01-02T00:00:00Z";

const STATUS = {
  targets: [{ kind: "Deployment", name: "web", pods: 3, rejectedPods: 1, recreatedBy: "HelmHook" }],
  restarts: [
    { pod: "web-1", podUID: "u1", workload: "Deployment/web", time: TIME, cause: "Unknown", outcome: "Ineffective" },
  ],
  bindings: [{ kind: "RoleBinding", name: "edit", state: "Current", expiryTime: TIME, renewTime: TIME }],
  flows: [{ serviceAccount: "web", requestsPerSecond: 150, threshold: 100, state: "Throttled" }],
  stalls: [{ workload: "Deployment/web", evidence: "Lease", since: TIME }],
} as const satisfies ControllerResilienceStatus;

/** Gives every metric of the operator a sample. */
export function fill(metrics: Metrics): void {
  const loop = metrics.loop("controllerresilience");
  loop.ofQueue(() => ({ depth: 2, workingSeconds: [0.5] }));
  loop.added();
  loop.taken(0.1);
  loop.done(0.2);
  loop.retried();
  loop.reconciled("success", 0.2);
  metrics.count("intents_total", { remedy: "token-restart", verb: "evict", result: "Executed" });
  metrics.conditions("team/web", [{ type: "Ready", status: "False", reason: "Rejected" }]);
  metrics.conditions("/default", [{ type: "Stalled", status: "True", reason: "Refused" }]);
  metrics.status("team/web", { spec: {} as ControllerResilienceSpec, status: STATUS });
  const unprotected = { protection: "unprotected", reason: "NamespaceNotSelected" };
  metrics.show("workloads", [{ labels: unprotected, value: 3 }]);
  metrics.show("leader", 1);
  metrics.count("lease_transitions_total", { event: "acquired" });
  metrics.count("rest_client_requests_total", { method: "GET", code: "200" });
  metrics.count("restarts_deferred_total", { limit: "UnprovenRestart" });
  metrics.count("watch_ends_total", { resource: "pods", reason: "stalled" });
  metrics.count("watch_relists_total", { resource: "pods" });
  metrics.watchAge("pods", () => 12_500);
  metrics.count("log_reads_total", { result: "ok" });
  metrics.count("log_read_bytes_total", {}, 100);
  metrics.show("log_read_interval_seconds", 30);
  metrics.show("log_rounds", [{ labels: { state: "quiet" }, value: 1 }]);
  metrics.show("clock_offset_seconds", 0.1);
  metrics.count("events_lost_total", {});
  metrics.count("notifications_total", { result: "sent" });
}
