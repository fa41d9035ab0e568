import fc from "fast-check";
import { UNREAD_KIND } from "../../../core/progress";
import type { RestartStatus, StallDetectionSpec, StallStatus } from "../../../api/controller-resilience";
import type { LeaseTrack } from "../../../core/leases";
import type { PodView, WorkloadView } from "../../../core/views";
import type { UnauthorizedTrace } from "../../../logs/persistence";
import { LEASE_LOST, REFUSED, THROTTLED, topicOf } from "../../../logs/traces";
import type { HeldLease } from "../lease-judge";
import type { LostBinding } from "../lost-bindings";
import type { ContainerLog, Observed, ObservedKind, ObservedPod, ObservedWorkload } from "../observed";

const DAY = { min: Date.parse("2025-01-01T00:00:00Z"), max: Date.parse("2025-01-02T00:00:00Z") };
const times = fc.integer(DAY);
const rarely = fc.integer({ min: 0, max: 7 }).map(n => n === 0);

/** A Lease as it may have been followed. */
export const anyTrack: fc.Arbitrary<LeaseTrack> = fc
  .record({
    durationMs: fc.constantFrom(15_000, 60_000),
    renewals: fc.constantFrom(4, 4, 4, 2, 0),
    changedMs: times,
    standingMs: fc.constantFrom(0, 250_000, 500_000, 1_000_000),
    longestMs: fc.integer({ min: 0, max: 60_000 }),
    isTakenInSight: fc.boolean(),
  })
  .map(({ renewals, isTakenInSight, longestMs, ...track }) => ({
    ...{ namespace: "team", name: "web", uid: "l", resourceVersion: "9", holder: "web-a_0b5c" },
    ...track,
    pauses: [{ ms: longestMs, endedMs: track.changedMs }],
    heldFromMs: isTakenInSight ? track.changedMs - 100_000 : -Infinity,
    renewalsMs: Array.from({ length: renewals }, (_, i) => track.changedMs - (renewals - 1 - i) * 10_000),
  }));

const views: fc.Arbitrary<PodView> = fc
  .record({
    name: fc.constantFrom("web-a", "web-b", "web-c"),
    createdAtMs: fc.constantFrom(DAY.min, DAY.min, DAY.max),
    phase: fc.constantFrom("Running", "Running", "Running", "Pending"),
    ready: rarely.map(is => !is),
    skip: rarely,
    running: rarely.map(is => !is),
    isGoing: rarely,
  })
  .map(({ running, isGoing, ...view }): PodView => {
    const container = { name: "main", role: "main", restartCount: 0, running, startedAtMs: view.createdAtMs } as const;
    return {
      ...{ namespace: "team", uid: `uid-${view.name}`, resourceVersion: "1", serviceAccountName: "web", labels: {} },
      ...view,
      containers: [container],
      ...(isGoing ? { deletedAtMs: DAY.max } : {}),
    };
  });

const traces: fc.Arbitrary<UnauthorizedTrace> = fc.array(times, { minLength: 1, maxLength: 12 }).map(starts => ({
  occasions: starts.toSorted((a, b) => a - b).map(startMs => ({ startMs, endMs: startMs, quietMs: 0 })),
  ...{ life: 0, quietFromMs: 0, quietMs: 0, lastLineMs: Math.max(...starts) },
}));

const DENIED = topicOf({
  ...{ serviceAccount: { namespace: "team", name: "web" }, verb: "list", resource: "pods", group: "" },
  namespace: "team",
});
const topics = fc
  .dictionary(fc.constantFrom(DENIED, LEASE_LOST, REFUSED, THROTTLED), traces)
  .map(found => new Map(Object.entries(found)));

/** How long pods have been able to renew. */
const ableForMs = fc.constantFrom(0, 20_000, 100_000, 1_000_000, Infinity, Infinity);

const pods: fc.Arbitrary<ObservedPod> = fc
  .record({
    ...{ view: views, track: anyTrack, holds: fc.boolean(), isOperator: rarely, topics, has401: fc.boolean() },
    ...{ isFresh: rarely.map(is => !is), ableForMs },
    ...{ isNamed: fc.boolean(), other: fc.option(anyTrack, { nil: undefined, freq: 3 }) },
  })
  .map(({ view, track, holds, isOperator, isFresh, ableForMs: forMs, isNamed, other, ...log }) => {
    const held: HeldLease = {
      ...{ track, pod: view, intervalMs: 10_000, isFresh, ableForMs: forMs },
      ...{ isConfirmed: log.has401, wasStale: isNamed },
    };
    const shard = other && { ...held, track: { ...other, name: "shard", uid: "s" }, wasStale: false };
    const logs: ContainerLog[] = view.containers.map(container => ({
      ...{ pod: view, container, searchedFromMs: DAY.min },
      ...log,
    }));
    const leases = [...(holds ? [held] : []), ...(shard === undefined ? [] : [shard])];
    return { view, isOperator, logs, leases, leads: true };
  });

const workloads: fc.Arbitrary<ObservedWorkload> = fc
  .record({
    name: fc.constantFrom("web", "db"),
    kind: fc.constantFrom<WorkloadView["kind"][]>("Deployment", "StatefulSet", "DaemonSet"),
    replicas: fc.constantFrom(0, 1, 1, 2),
    skip: rarely,
    pods: fc.uniqueArray(pods, { maxLength: 3, selector: ({ view }) => view.uid }),
  })
  .map(({ pods: found, ...view }) => ({
    view: {
      ...{ namespace: "team", uid: `uid-${view.kind}-${view.name}`, resourceVersion: "1", labels: {} },
      ...{ serviceAccountName: "web" },
      ...view,
    },
    pods: found,
  }));

const restarts: fc.Arbitrary<RestartStatus> = fc
  .record({
    workload: fc.constantFrom("Deployment/web", "StatefulSet/db"),
    pod: fc.constantFrom("web-a", "web-b"),
    atMs: times,
    outcome: fc.constantFrom<RestartStatus["outcome"][]>("Requested", "Restarted", "Recovered", "Ineffective"),
  })
  .map(({ atMs, pod, ...entry }) => {
    return { ...entry, pod, podUID: `uid-${pod}`, time: new Date(atMs).toISOString(), cause: "LeaseNotRenewed" };
  });

const lost: fc.Arbitrary<LostBinding> = times.map(atMs => ({
  ...{ kind: "RoleBinding", namespace: "team", name: "rights", role: "Role web", how: "deleted", atMs },
  serviceAccounts: ["team/web"],
}));

const previous: fc.Arbitrary<StallStatus> = fc.constantFrom<StallStatus[]>(
  {
    workload: "Deployment/web",
    evidence: "Forbidden",
    since: "2025-01-01T00:00:00Z",
    denied: "list pods in namespace team",
  },
  {
    workload: "Deployment/web",
    evidence: "LeaderLoss",
    since: "2025-01-01T00:00:00Z",
    pod: "web-a",
    podUID: "uid-web-a",
  },
);

const kinds: fc.Arbitrary<ObservedKind> = fc
  .record({
    owners: fc.array(workloads, { minLength: 1, maxLength: 2 }),
    ...{ dueMs: fc.constantFrom(100, 900_000), isRefused: rarely, isStuck: fc.boolean(), hasOthers: fc.boolean() },
  })
  .map(({ dueMs, isStuck, hasOthers, ...kind }) => {
    const name = { namespace: "team", name: "blue", createdMs: 0, generation: 2, observed: 1 };
    const object = { ...name, dueMs, wasDone: true, movedMs: -Infinity };
    const reading = { ...UNREAD_KIND, due: [object], movedMs: 50, steadyMs: 10, readMs: 1_000_000 };
    const stuck = isStuck && !kind.isRefused ? { object, hasOthers } : undefined;
    return { kind: "Widget", reading, stuck, ...kind };
  });

/** Anything that a pass may read. */
export const anyObserved: fc.Arbitrary<Observed> = fc.record({
  generation: fc.integer({ min: 1, max: 3 }),
  mode: fc.constantFrom("Enforce", "Enforce", "Observe", "OperatorObserves", "NamespaceSkipped"),
  restarts: fc.oneof(fc.constant([]), fc.array(restarts, { maxLength: 4 })),
  previous: fc.array(previous, { maxLength: 2 }),
  limits: fc.record({
    cooldownMs: fc.constant(600_000),
    maxRestarts: fc.integer({ min: 1, max: 3 }),
    maxUnavailable: fc.integer({ min: 1, max: 3 }),
  }),
  missingTargets: fc.constantFrom([], [], ["Deployment/gone"]),
  workloads: fc.uniqueArray(workloads, { maxLength: 2, selector: ({ view }) => view.uid }),
  lost: fc.array(lost, { maxLength: 1 }),
  kinds: fc.array(kinds, { maxLength: 1 }),
  epochMs: fc.constant(DAY.min),
  unread: fc.constantFrom([], ["team/"]),
  problems: fc.constantFrom([], [], [{ forbidden: true, message: "list leases in team" }]),
});

export const anySpec: fc.Arbitrary<StallDetectionSpec> = fc.record({
  evidence: fc.subarray<StallDetectionSpec["evidence"][number]>(["Lease", "Forbidden", "LeaderLoss"]),
  for: fc.constantFrom("1m", "5m"),
  onStall: fc.constantFrom<StallDetectionSpec["onStall"][]>("Report", "Restart", "Restart", "Restart"),
  leases: fc.constant([]),
});
