import fc from "fast-check";
import type { RestartStatus, TokenRestartSpec } from "../../../api/controller-resilience";
import type { PendingWrite } from "../../../core/remedy";
import type { PodView, RolloutView, WorkloadView } from "../../../core/views";
import type { Persistence } from "../../../logs/persistence";
import type { Observed, ObservedPod, ObservedWorkload } from "../observed";
import { pod, workload } from "../../../core/testing/views";
import { DEFAULTS } from "./scene";

const DAY = { min: Date.parse("2025-01-01T00:00:00Z"), max: Date.parse("2025-01-02T00:00:00Z") };
const times = fc.integer(DAY);
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 4 }, { arbitrary: value, weight: 1 });
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

const persistence: fc.Arbitrary<Persistence> = fc.oneof(
  fc.constant<Persistence>({ state: "quiet", occasions: 0 }),
  fc.record({
    state: fc.constantFrom("suspected", "persistent"),
    occasions: fc.integer({ min: 1, max: 500 }),
    firstMs: times,
    lastMs: times,
  }),
);

const pods: fc.Arbitrary<ObservedPod> = fc
  .record({
    name: fc.constantFrom("web-a", "web-b", "web-c"),
    createdAtMs: times,
    deletedAtMs: maybe(times),
    ready: fc.boolean(),
    skip: fc.integer({ max: 5, min: 0 }).map(n => n === 0),
    logs: persistence,
    proof: maybe(
      fc.record({ serviceAccountUID: fc.constantFrom("sa-1", "sa-2"), sinceMs: times, alone: fc.boolean() }),
    ),
    sandboxes: maybe(fc.tuple(persistence, fc.boolean()).map(([state, isOneSided]) => ({ ...state, isOneSided }))),
    serviceAccount: fc.constantFrom("present", "present", "present", "missing", "unknown"),
    readMs: maybe(times),
    unreadable: fc.boolean(),
  })
  .map(({ name, createdAtMs, deletedAtMs, ready, skip, ...evidence }) =>
    defined<ObservedPod>({
      ...evidence,
      view: pod(defined({ name, uid: `uid-${name}`, createdAtMs, deletedAtMs, ready, skip })),
    } as ObservedPod),
  );

const rollouts: fc.Arbitrary<RolloutView> = fc
  .record({
    strategy: fc.constantFrom("RollingUpdate", "OnDelete"),
    isComplete: fc.boolean(),
    isInProgress: fc.boolean(),
    currentLabel: maybe(fc.constant({ key: "app", value: "web" })),
    progressDeadlineMs: maybe(fc.integer({ min: 1_000 })),
  })
  .map(fields => defined<RolloutView>(fields));

/** No pod belongs to two workloads. */
function renamed(view: PodView, { kind, name }: WorkloadView): PodView {
  const unique = `${kind}/${name}/${view.name}`;
  return { ...view, name: unique, uid: `uid-${unique}` };
}

const workloads: fc.Arbitrary<ObservedWorkload[]> = fc.uniqueArray(
  fc
    .record({
      view: fc
        .record({
          name: fc.constantFrom("web", "db"),
          kind: fc.constantFrom("Deployment", "StatefulSet", "DaemonSet"),
          replicas: fc.integer({ min: 0, max: 3 }),
          skip: fc.integer({ max: 5, min: 0 }).map(n => n === 0),
          rollout: rarely(rollouts),
        })
        .map(changes => workload(defined({ ...changes, uid: `uid-${changes.kind}/${changes.name}` }))),
      pods: fc.uniqueArray(pods, { maxLength: 3, selector: ({ view }) => view.name }),
      rolloutSinceMs: rarely(times),
    })
    .map(({ view, pods: all, rolloutSinceMs }) =>
      defined<ObservedWorkload>({
        view,
        pods: all.map(pod => ({ ...pod, view: renamed(pod.view, view) })),
        rolloutSinceMs,
      }),
    ),
  { maxLength: 3, selector: ({ view }) => `${view.kind}/${view.name}` },
);

const restarts: fc.Arbitrary<RestartStatus[]> = fc.array(
  fc
    .record({
      pod: fc.constantFrom("Deployment/web/web-a", "Deployment/web/web-b", "StatefulSet/web/web-a", "web-x"),
      workload: fc.constantFrom("Deployment/web", "StatefulSet/web", "DaemonSet/web", "Deployment/other"),
      time: fc.oneof(
        times.map(ms => new Date(ms).toISOString()),
        fc.constant("no time at all"),
      ),
      cause: fc.constantFrom("ServiceAccountRecreated", "CniCredentialRejected", "Unknown"),
      outcome: fc.constantFrom("Requested", "Restarted", "Recovered", "Ineffective"),
      generation: maybe(fc.integer({ min: 1, max: 3 })),
      serviceAccountUID: maybe(fc.constantFrom("sa-1", "sa-2")),
    })
    .map(entry => defined<RestartStatus>({ ...entry, podUID: `uid-${entry.pod}` } as RestartStatus)),
  { maxLength: 5 },
);

/** Any observations, sensible or not. */
export const anyObserved: fc.Arbitrary<Observed> = fc.record({
  generation: fc.integer({ min: 1, max: 3 }),
  mode: fc.constantFrom("Enforce", "Observe", "OperatorObserves", "NamespaceSkipped"),
  restarts: fc.oneof(fc.constant([]), restarts),
  previousTargets: fc.array(
    fc.record({
      kind: fc.constant("Deployment" as const),
      name: fc.constantFrom("web", "db"),
      pods: fc.constant(1),
      rejectedPods: fc.constant(0),
    }),
    { maxLength: 1 },
  ),
  missingTargets: fc.array(fc.constant("Deployment/gone"), { maxLength: 1 }),
  workloads,
  doubtfulNodes: fc.array(fc.constant("Pods cannot start or end on node n1."), { maxLength: 1 }),
  problems: fc.array(fc.record({ forbidden: fc.boolean(), message: fc.string() }), { maxLength: 1 }),
});

/** A refused restart, or none. */
export const anyPending: fc.Arbitrary<PendingWrite[]> = fc.array(
  fc
    .record({ untilMs: fc.double(), message: fc.constantFrom("no", "it would violate the pod's disruption budget") })
    .map(({ untilMs, message }): PendingWrite => {
      const [name, podUID] = ["Deployment/web/web-a", "uid-Deployment/web/web-a"];
      const target = { apiVersion: "v1", kind: "Pod", namespace: "team", name, uid: podUID };
      const limits = { cooldownMs: 0, maxRestarts: 1 };
      const restart = {
        workload: "Deployment/web",
        pod: name,
        podUID,
        newestPodMs: 0,
        cause: "Unknown",
        limits,
      } as const;
      return { verb: "evict", target, restart, outcome: { result: "Blocked", message, retryAfterMs: 1 }, untilMs };
    }),
  { maxLength: 1 },
);

/** Specs that the schema accepts. */
export const anySpec: fc.Arbitrary<TokenRestartSpec> = fc
  .record({
    cooldown: fc.constantFrom("30s", "10m", "1h"),
    maxRestarts: fc.integer({ min: 1, max: 20 }),
    maxUnavailable: fc.integer({ min: 1, max: 3 }),
  })
  .map(changes => ({ ...DEFAULTS, ...changes }));
