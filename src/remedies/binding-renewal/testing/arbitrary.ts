import fc from "fast-check";
import type { BindingRenewalSpec, BindingStatus } from "../../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION } from "../../../api/names";
import { runToEnd } from "../../../core/slices";
import { intentsOf, outcomesOf, type RemedySample } from "../../../core/testing/remedy-sample";
import type { BindingView } from "../../../core/views";
import type { LivingBinding, ObservedBindings } from "../observe";
import { type BindingPlan, planBindings } from "../plan";
import { reportBindings } from "../report";
import { account, DEFAULTS, EDIT } from "./scene";

const START = Date.parse("2024-12-01T00:00:00Z");
const moments = fc.integer({ min: 0, max: 60 * 86_400 }).map(seconds => START + seconds * 1000);
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}

const rfc3339 = moments.map(ms => new Date(ms).toISOString().replace(".000Z", "Z"));
const dates = rfc3339.map(text => text.slice(0, 10));
const durations = fc
  .tuple(fc.integer({ min: 0, max: 90 }), fc.constantFrom("s", "m", "h", "d", "w"))
  .map(([n, unit]) => `${n}${unit}`);

/** Keys of all conventions, mostly with valid values. */
const marks = fc.record({
  labels: fc.record(
    { "cleanup.kyverno.io/ttl": fc.oneof(durations, dates, fc.constant("soon")) },
    { requiredKeys: [] },
  ),
  annotations: fc.record(
    {
      "controller-resilience.io/expires-at": rfc3339,
      "controller-resilience.io/expiration-seconds": fc.nat({ max: 9_999_999 }).map(String),
      "janitor/ttl": fc.oneof(durations, fc.constant("forever")),
      "janitor/expires": fc.oneof(dates, rfc3339),
      [LATEST_EXPIRY_ANNOTATION]: fc.oneof({ weight: 9, arbitrary: rfc3339 }, { weight: 1, arbitrary: fc.string() }),
      [LIFE_ANNOTATION]: fc.nat({ max: 90 * 86_400 }).map(String),
      note: fc.string(),
    },
    { requiredKeys: [] },
  ),
});

const right = { apiGroup: EDIT.apiGroup, resource: "clusterroles", verb: "bind", name: "edit" };
const reviews = fc.constantFrom(
  undefined,
  ...Array<{ lacks: [] }>(5).fill({ lacks: [] }),
  { lacks: [right] },
  { lacks: [], excess: "may escalate roles" },
  { lacks: [], unread: "503" },
);
const rarely = fc.integer({ min: 0, max: 9 }).map(n => n === 0);

const views: fc.Arbitrary<BindingView> = fc
  .record({
    kind: fc.constantFrom("RoleBinding" as const, "ClusterRoleBinding" as const),
    createdAtMs: moments,
    deletedAtMs: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, moments),
    marks,
    skip: rarely,
    owned: rarely,
  })
  .map(({ marks: { labels, annotations }, owned, kind, ...rest }) =>
    defined<BindingView>({
      ...rest,
      kind,
      namespace: kind === "RoleBinding" ? "team" : "",
      name: "",
      uid: "",
      resourceVersion: "1",
      labels: defined(labels),
      annotations: defined(annotations),
      owner: owned ? { kind: "AccessRequest", name: "a", uid: "a" } : undefined,
      roleRef: EDIT,
      subjects: [account("web")],
    }),
  );

const entries: fc.Arbitrary<BindingStatus> = fc
  .record({
    kind: fc.constantFrom("RoleBinding" as const, "ClusterRoleBinding" as const),
    state: fc.constantFrom("Current", "ExpiringSoon", "Forbidden", "Contested", "Ended", "Expired", "Revoked"),
    expiryTime: rfc3339,
    lastRenewalTime: maybe(rfc3339),
    latestExpiryTime: maybe(rfc3339),
  })
  .map(entry => defined<BindingStatus>({ ...entry, name: "", uid: "", role: "ClusterRole/edit" } as BindingStatus));

const living: fc.Arbitrary<LivingBinding> = fc
  .record({ view: views, entry: entries, review: reviews, requested: fc.boolean(), listed: fc.boolean() })
  .map(({ view, entry, review, requested, listed }) =>
    defined<LivingBinding>({
      ...{ view, listed, requested: requested || listed, review },
      record: { ...entry, kind: view.kind, ...(view.namespace === "" ? {} : { namespace: view.namespace }) },
    }),
  );

const observedBindings: fc.Arbitrary<ObservedBindings> = fc
  .record({
    mode: fc.constantFrom("Enforce", "Enforce", "Observe", "OperatorObserves"),
    living: fc.array(living, { maxLength: 5 }),
    gone: fc.array(entries, { maxLength: 3 }),
    missingTargets: fc.constantFrom([], ["Deployment/db"]),
  })
  .map(observed => ({
    ...observed,
    absent: [],
    omitted: 0,
    kept: [],
    living: observed.living.map(one => {
      const [name, uid] = [`b${observed.living.indexOf(one)}`, `u${observed.living.indexOf(one)}`];
      return { ...one, view: { ...one.view, name, uid }, record: { ...one.record, name, uid } };
    }),
    gone: observed.gone.map((record, i) => ({ ...record, name: `g${i}`, uid: `v${i}` })),
  })) as fc.Arbitrary<ObservedBindings>;

/** Specs that the API server accepts. */
const bindingRenewalSpecs: fc.Arbitrary<BindingRenewalSpec> = fc
  .record({
    warnBefore: fc.constantFrom("1m", "24h", "168h", "8760h"),
    renewBefore: fc.constantFrom("30s", "24h", "60h"),
    extendBy: fc.constantFrom("", "", "1m", "25h", "36h", "720h"),
    renewUntil: fc.oneof(fc.constant(null), rfc3339),
  })
  .map(spec => ({ ...DEFAULTS, ...spec }));

/** The observations of the next pass, after all writes of the plan and the status were written. */
function applied(observed: ObservedBindings, plan: BindingPlan, now: Date): ObservedBindings {
  const intents = intentsOf(plan);
  const { lists } = reportBindings(plan, outcomesOf(plan, { result: "Executed" }), now);
  const recordNamed = (name: string) => lists?.bindings?.find(one => one.name === name);
  return {
    ...observed,
    living: observed.living.map(one => {
      const { view } = one;
      const body = intents.find(({ target }) => target.name === view.name)?.body;
      const { metadata = {} } = (body ?? {}) as { metadata?: Partial<BindingView> };
      const labels = { ...view.labels, ...metadata.labels };
      const annotations = { ...view.annotations, ...metadata.annotations };
      const record = recordNamed(view.name);
      return { ...one, view: { ...view, labels, annotations }, ...(record === undefined ? {} : { record }) };
    }),
    gone: observed.gone.flatMap(({ name }) => recordNamed(name) ?? []),
  };
}

export const sample: RemedySample<ObservedBindings, BindingRenewalSpec, BindingPlan> = {
  observed: observedBindings,
  specs: bindingRenewalSpecs,
  plan: (observed, spec, now) => runToEnd(planBindings(observed, spec, now)),
  report: reportBindings,
  applied,
};
