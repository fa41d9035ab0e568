import fc from "fast-check";
import type { DaemonSetStatus, TokenLifetimeSpec } from "../../../api/controller-resilience";
import type { Decision } from "../../../core/remedy";
import type { DaemonSetView, PodView } from "../../../core/views";
import { concludeDaemonSets } from "../conclude";
import { inputOf, planOf, type DaemonSetFacts, type PodFacts, type TokenLifetimeFacts } from "../facts";
import { fingerprint, type TemplatePatch } from "../template";
import { applyPatch } from "../template/testing/apply";
import { DEFAULTS, PLAIN } from "./scene";

const START = Date.parse("2025-01-01T00:00:00Z");
const moments = fc.integer({ min: 0, max: 86_400 }).map(seconds => START + seconds * 1000);
const times = moments.map(ms => new Date(ms).toISOString().replace(".000Z", "Z"));
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const rarely = fc.integer({ min: 0, max: 9 }).map(n => n === 0);

function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

const explicit = (expirationSeconds: number) => ({
  spec: {
    ...PLAIN.spec,
    volumes: [
      { name: "token", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds } }] } },
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

const pods: fc.Arbitrary<PodFacts> = fc
  .record({
    createdAtMs: moments,
    deletedAtMs: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, moments),
    tokenExpirationSeconds: maybe(fc.constantFrom(600, 900, 3607)),
    mountsToken: fc.constantFrom(true, true, false),
    verdict: fc.constantFrom("quiet", "quiet", "quiet", "suspected", "persistent", "unread", "unreadable"),
    isOlderThanAccount: rarely,
  })
  .map(({ verdict, isOlderThanAccount, ...rest }) => ({
    verdict,
    isOlderThanAccount,
    pod: defined<PodView>({
      ...rest,
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

const daemonSets: fc.Arbitrary<DaemonSetFacts> = fc
  .record({
    template: templates,
    updateStrategy: fc.constantFrom("RollingUpdate", "RollingUpdate", "OnDelete"),
    skip: rarely,
    isSettled: fc.constantFrom(true, true, true, false),
    pods: fc.array(pods, { maxLength: 3 }),
    isPlanned: fc.boolean(),
    outcome: fc.constantFrom("Bounded", "Waiting", "Rolling", "Reverting", "Reverted", "Contested", "Stuck"),
    appliedTime: maybe(times),
    changes: fc.integer({ min: 0, max: 2 }),
    generation: fc.constantFrom(1, 2),
  })
  .map(({ template, updateStrategy, skip, isSettled, pods: own, isPlanned, ...history }) => {
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
      updateStrategy,
      updatedPods: 3,
      availablePods: 3,
      template,
      ownedVolumes: [],
    };
    const plan = planOf({ view }, DEFAULTS);
    const previous = plan.kind === "Change" ? [...plan.previous] : [];
    const outcome = isPlanned ? "Planned" : history.outcome;
    const record = { ...history, name: "", previous, outcome, fingerprint: fingerprint(inputOf({ view }), previous) };
    return { view, pods: own, record: defined<DaemonSetStatus>(record as DaemonSetStatus) };
  });

/** Facts of all sorts, each DaemonSet with a name of its own. */
export const tokenLifetimeFacts = fc
  .record({
    mode: fc.constantFrom("Enforce", "Enforce", "Observe"),
    daemonSets: fc.array(daemonSets, { maxLength: 3 }),
    missingTargets: fc.constantFrom([], ["DaemonSet/other"]),
    staleTokens: fc.constantFrom(null, 0, 12),
  })
  .map(facts => ({
    ...facts,
    generation: 1,
    nextReadInMs: 30_000,
    kept: [],
    daemonSets: facts.daemonSets.map((one, i) => {
      const name = `agent-${i}`;
      return { ...one, view: { ...one.view, name, uid: name }, record: { ...one.record, name, uid: name } };
    }),
  })) as fc.Arbitrary<TokenLifetimeFacts>;

/** Specs as the API server lets them through. */
export const tokenLifetimeSpecs: fc.Arbitrary<TokenLifetimeSpec> = fc
  .record({
    via: fc.constantFrom("Template", "Template", "Template", "Admission"),
    revertOnUnauthorized: fc.boolean(),
  })
  .map(spec => ({ ...DEFAULTS, ...spec }));

/** The API server has done what the plan asks for, and status was written. */
export function applied(facts: TokenLifetimeFacts, decision: Decision, now: Date): TokenLifetimeFacts {
  const executions = decision.intents.map(intent => ({ intent, outcome: { result: "Executed" } as const }));
  const records = concludeDaemonSets(decision, executions, now).parts?.daemonSets ?? [];
  return {
    ...facts,
    daemonSets: facts.daemonSets.map(one => {
      const intent = decision.intents.find(({ target }) => target.name === one.view.name);
      const record = records.find(({ name }) => name === one.view.name);
      const known = record === undefined ? one : { ...one, record };
      if (intent === undefined) return known;
      const { spec } = intent.body as { spec: { template: { spec: TemplatePatch } } };
      const after = applyPatch(one.view.template, one.view.ownedVolumes, spec.template.spec);
      const generation = one.view.generation + 1;
      return { ...known, view: { ...one.view, ...after, generation } };
    }),
  };
}
