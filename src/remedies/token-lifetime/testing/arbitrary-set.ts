import fc from "fast-check";
import type { DaemonSetStatus } from "../../../api/controller-resilience";
import type { DaemonSetView, PodView } from "../../../core/views";
import { type ObservedDaemonSet, type ObservedPod, templateInputOf, templatePlanOf } from "../subject";
import { fingerprint } from "../template/fingerprint";
import { DEFAULTS, PLAIN } from "./scene";

const START = Date.parse("2025-01-01T00:00:00Z");
export const moments = fc.integer({ min: 0, max: 86_400 }).map(seconds => START + seconds * 1000);
export const times = moments.map(ms => new Date(ms).toISOString().replace(".000Z", "Z"));
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const rarely = fc.integer({ min: 0, max: 9 }).map(n => n === 0);

function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

const explicit = (expirationSeconds: number) => ({
  spec: {
    ...PLAIN.spec,
    volumes: [
      {
        name: "token",
        projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: "token", expirationSeconds } }] },
      },
    ],
    containers: [{ name: "main", volumeMounts: [{ name: "token", mountPath: "/token" }] }],
  },
});
const templates = fc.constantFrom(
  PLAIN,
  PLAIN,
  explicit(600),
  explicit(3600),
  { spec: { ...PLAIN.spec, automountServiceAccountToken: false } },
  { spec: { ...PLAIN.spec, os: { name: "windows" } } },
);

const pods: fc.Arbitrary<ObservedPod> = fc
  .record({
    createdAtMs: moments,
    deletedAtMs: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, moments),
    tokenExpirationSeconds: maybe(fc.constantFrom(600, 900, 3607)),
    mountsToken: fc.constantFrom(true, true, false),
    logReadMs: fc.constantFrom(Infinity, Infinity, -Infinity),
    logState: fc.constantFrom("quiet", "quiet", "quiet", "suspected", "persistent", "unread", "unreadable"),
    isOlderThanServiceAccount: rarely,
    hasSandboxStarted: fc.boolean(),
    nodeName: fc.constantFrom("node-1", "node-2", "node-3"),
    isAgent: fc.constantFrom(false, false, true),
  })
  .map(({ logState, logReadMs, isOlderThanServiceAccount, hasSandboxStarted, isAgent, ...rest }) => ({
    logState,
    logReadMs,
    isOlderThanServiceAccount,
    hasSandboxStarted,
    pod: defined<PodView>({
      ...rest,
      ...(isAgent && { hostNetwork: true, cniFolder: true }),
      maxTokenExpirationSeconds: rest.tokenExpirationSeconds,
      namespace: "team",
      name: "agent-1",
      uid: "pod-1",
      resourceVersion: "1",
      phase: "Running",
      ready: true,
      readySinceMs: rest.createdAtMs,
      serviceAccountName: "agent",
      labels: {},
      skip: false,
      containers: [],
    } as PodView),
  }));

const strategies = fc.record({
  updateStrategy: fc.constantFrom("RollingUpdate", "RollingUpdate", "OnDelete"),
  ownsUpdateStrategy: fc.constantFrom(false, false, true),
  maxUnavailable: fc.constantFrom(1, 1, 1, "10%", "100%"),
});

/** Any DaemonSet, without a name. */
export const daemonSets: fc.Arbitrary<ObservedDaemonSet> = fc
  .record({
    template: templates,
    strategy: strategies,
    skip: rarely,
    lacksServiceAccount: rarely,
    isSettled: fc.constantFrom(true, true, true, false),
    pods: fc.array(pods, { maxLength: 3 }),
    isPlanned: fc.boolean(),
    outcome: fc.constantFrom("Bounded", "Waiting", "Rolling", "Reverted", "Contested", "Trial", "Unproven"),
    appliedTime: maybe(times),
    generation: fc.constantFrom(1, 2),
  })
  .map(({ template, strategy, skip, lacksServiceAccount, isSettled, pods: own, isPlanned, ...history }) => {
    const view: DaemonSetView = {
      kind: "DaemonSet",
      namespace: "team",
      name: "",
      uid: "",
      resourceVersion: "1",
      labels: {},
      skip,
      serviceAccountName: "agent",
      replicas: 3,
      generation: 4,
      observedGeneration: isSettled ? 4 : 3,
      ...strategy,
      updatedPods: 3,
      availablePods: 3,
      template,
      ownedVolumes: [],
    };
    const plan = templatePlanOf({ view }, DEFAULTS);
    const previous = plan.kind === "Change" ? [...plan.previous] : [];
    const outcome = isPlanned ? "Planned" : history.outcome;
    const record = {
      ...history,
      name: "",
      previous,
      outcome,
      fingerprint: fingerprint(templateInputOf({ view }), previous),
    };
    return { view, lacksServiceAccount, pods: own, record: defined<DaemonSetStatus>(record as DaemonSetStatus) };
  });
