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
  flows: [{ serviceAccount: "web", requestsPerSecond: 150, state: "Throttled" }],
  stalls: [{ workload: "Deployment/web", evidence: "Lease", since: TIME }],
} as const satisfies ControllerResilienceStatus;

const SPEC = { flowIsolation: { requestRate: { threshold: 100 } } } as unknown as ControllerResilienceSpec;

/** Gives every metric of the operator a sample. */
export function fill(metrics: Metrics): void {
  const loop = metrics.loop("controllerresilience");
  loop.ofQueue(() => ({ depth: 2, workingSeconds: [0.5] }));
  loop.added();
  loop.taken(0.1);
  loop.done(0.2);
  loop.retried();
  loop.reconciled("success", 0.2);
  metrics.intent("token-restart", "evict", "Executed");
  metrics.conditions("team/web", [{ type: "Ready", status: "False", reason: "Rejected" }]);
  metrics.conditions("/default", [{ type: "Stalled", status: "True", reason: "Refused" }]);
  metrics.status("team/web", { spec: SPEC, status: STATUS });
  metrics.workloads([{ protection: "unprotected", reason: "NamespaceNotSelected", count: 3 }]);
  metrics.leader(true);
  metrics.leaseTransition("acquired");
  metrics.identityRejected(false);
  metrics.requested("GET", "200");
  metrics.restartDeferred("UnprovenRestart");
  metrics.breakerTripped(false);
  metrics.watchEnded("pods", "stalled");
  metrics.relisted("pods");
  metrics.watchAges(() => [{ resource: "pods", ageMs: 12_500 }]);
  metrics.logRead("ok", 100);
  metrics.logReadInterval(30);
  metrics.logRounds("quiet");
  metrics.clockOffset(0.1);
  metrics.eventLost();
  metrics.notified("sent");
}
