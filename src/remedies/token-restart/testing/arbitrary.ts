import fc from "fast-check";
import type { RestartStatus, TokenRestartSpec } from "../../../api/controller-resilience";
import type { PodView, WorkloadView } from "../../../core/views";
import type { PodFacts, TokenRestartFacts, WorkloadFacts } from "../facts";
import type { Persistence } from "../../../logs/persistence";
import { pod } from "./fake-log";
import { DEFAULTS, workload } from "./scene";

const DAY = { min: Date.parse("2025-01-01T00:00:00Z"), max: Date.parse("2025-01-02T00:00:00Z") };
const times = fc.integer(DAY);
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

const verdicts: fc.Arbitrary<Persistence> = fc.oneof(
  fc.constant<Persistence>({ state: "quiet", occasions: 0 }),
  fc.record({
    state: fc.constantFrom("suspected", "persistent"),
    occasions: fc.integer({ min: 1, max: 500 }),
    firstMs: times,
    lastMs: times,
  }),
);

const pods: fc.Arbitrary<PodFacts> = fc
  .record({
    name: fc.constantFrom("web-a", "web-b", "web-c"),
    createdAtMs: times,
    deletedAtMs: maybe(times),
    ready: fc.boolean(),
    skip: fc.integer({ max: 5, min: 0 }).map(n => n === 0),
    verdict: verdicts,
    proof: maybe(
      fc.record({ serviceAccountUID: fc.constantFrom("sa-1", "sa-2"), sinceMs: times, alone: fc.boolean() }),
    ),
    sandbox: maybe(verdicts),
    serviceAccount: fc.constantFrom("present", "present", "present", "missing", "unknown"),
    readMs: maybe(times),
    unreadable: fc.boolean(),
  })
  .map(({ name, createdAtMs, deletedAtMs, ready, skip, ...facts }) =>
    defined<PodFacts>({
      ...facts,
      pod: pod(defined({ name, uid: `uid-${name}`, createdAtMs, deletedAtMs, ready, skip })),
    } as PodFacts),
  );

/** No pod belongs to two workloads. */
function renamed(view: PodView, { kind, name }: WorkloadView): PodView {
  const unique = `${kind}/${name}/${view.name}`;
  return { ...view, name: unique, uid: `uid-${unique}` };
}

const workloads: fc.Arbitrary<WorkloadFacts[]> = fc.uniqueArray(
  fc
    .record({
      workload: fc
        .record({
          name: fc.constantFrom("web", "db"),
          kind: fc.constantFrom("Deployment", "StatefulSet", "DaemonSet"),
          replicas: fc.integer({ min: 0, max: 3 }),
          skip: fc.integer({ max: 5, min: 0 }).map(n => n === 0),
        })
        .map(over => workload(over)),
      pods: fc.uniqueArray(pods, { maxLength: 3, selector: ({ pod: { name } }) => name }),
    })
    .map(own => ({ ...own, pods: own.pods.map(one => ({ ...one, pod: renamed(one.pod, own.workload) })) })),
  { maxLength: 3, selector: own => `${own.workload.kind}/${own.workload.name}` },
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
      serviceAccountUID: maybe(fc.constantFrom("sa-1", "sa-2")),
    })
    .map(entry => defined<RestartStatus>({ ...entry, podUID: `uid-${entry.pod}` } as RestartStatus)),
  { maxLength: 5 },
);

/** Any facts, sensible or not. */
export const tokenRestartFacts: fc.Arbitrary<TokenRestartFacts> = fc
  .record({
    generation: fc.integer({ min: 1, max: 3 }),
    mode: fc.constantFrom("Enforce", "Observe"),
    restarts: fc.oneof(fc.constant([]), restarts),
    previousTargets: fc.array(
      fc.record({
        kind: fc.constant("Deployment"),
        name: fc.constantFrom("web", "db"),
        pods: fc.constant(1),
        rejectedPods: fc.constant(0),
        exhaustedGeneration: fc.integer({ min: 1, max: 3 }),
      }),
      { maxLength: 1 },
    ),
    invalidPattern: fc.integer({ min: 0, max: 20 }).map(n => (n === 0 ? "extraPatterns[0] is not valid" : undefined)),
    missingTargets: fc.array(fc.constant("Deployment/gone"), { maxLength: 1 }),
    workloads,
    undecided: fc.array(
      fc.record({ node: fc.constant("n1"), workloads: fc.constant(["DaemonSet/cni", "DaemonSet/other"]) }),
      { maxLength: 1 },
    ),
    problems: fc.array(fc.record({ forbidden: fc.boolean(), message: fc.string() }), { maxLength: 1 }),
    onsets: fc.array(
      fc.record({
        workload: fc.constant("Deployment/x"),
        namespace: fc.constant("x"),
        serviceAccount: fc.constant("x"),
        sinceMs: times,
        seenMs: times,
        isPersistent: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
    blocks: fc.array(
      fc.record({
        podUID: fc.constant("uid-Deployment/web/web-a"),
        pod: fc.constant("web-a"),
        untilMs: fc.double(),
        byBudget: fc.boolean(),
      }),
      { maxLength: 1 },
    ),
    nextReadInMs: fc.double({ min: 0 }),
  })
  .map(facts => defined<TokenRestartFacts>(facts as TokenRestartFacts));

/** Specs as the schema lets them through. */
export const tokenRestartSpecs: fc.Arbitrary<TokenRestartSpec> = fc
  .record({
    strategy: fc.constantFrom("Evict", "RolloutRestart"),
    cooldown: fc.constantFrom("30s", "10m", "1h"),
    maxRestarts: fc.integer({ min: 1, max: 20 }),
    maxUnavailable: fc.integer({ min: 1, max: 3 }),
  })
  .map(over => ({ ...DEFAULTS, ...over }));
