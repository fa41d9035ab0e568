import fc from "fast-check";
import type { BindingRenewalSpec, BindingStatus } from "../../../api/controller-resilience";
import { intentsOf, outcomesOf } from "../../../core/testing/remedy-sample";
import type { BindingView } from "../../../core/views";
import { readExpiry } from "../conventions";
import type { GoneBinding, LivingBinding, ObservedBindings } from "../observed";
import type { BindingPlan } from "../plan";
import { reportBindings } from "../report";
import { markedOf, scheduleOf } from "../schedule";
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
      "k8s-ttl-controller.twin.sh/ttl": durations,
      "k8s-ttl-controller.twin.sh/refreshed-at": rfc3339,
      note: fc.string(),
    },
    { requiredKeys: [] },
  ),
});

const subjects = fc.oneof(
  { weight: 8, arbitrary: fc.constant([account("web")]) },
  fc.constantFrom([], [account("web"), account("db")], [account("web", "elsewhere")], [{ kind: "User", name: "ada" }]),
);

const RIGHT = { apiGroup: EDIT.apiGroup, resource: "clusterroles", verb: "bind", name: "edit" };
const lacks = fc.oneof({ weight: 6, arbitrary: fc.constant([]) }, fc.constant([RIGHT]));
const rarely = fc.integer({ min: 0, max: 9 }).map(n => n === 0);

const views: fc.Arbitrary<BindingView> = fc
  .record({
    kind: fc.constantFrom("RoleBinding" as const, "ClusterRoleBinding" as const),
    createdAtMs: moments,
    deletedAtMs: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, moments),
    marks,
    subjects,
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
    }),
  );

const histories = fc.record({
  state: fc.constantFrom("Current", "ExpiringSoon", "Forbidden", "Contested", "Ended", "Expired", "Revoked"),
  expiryTime: rfc3339,
  lifeSeconds: fc.nat({ max: 90 * 86_400 }),
  lastRenewalTime: maybe(rfc3339),
  renewedUntil: maybe(rfc3339),
  specHash: fc.constantFrom("this", "another"),
});

function recordOf(view: BindingView, history: Partial<BindingStatus>): BindingStatus {
  const { kind, name, namespace, uid, roleRef } = view;
  const own = namespace === "" ? {} : { namespace };
  return defined<BindingStatus>({
    kind,
    name,
    ...own,
    uid,
    state: "Current",
    roleRef,
    subjects: [...view.subjects],
    ...history,
  } as BindingStatus);
}

// The life is always recorded, so that the renewal follows after one pass that records it.
const living: fc.Arbitrary<LivingBinding> = fc.record({ view: views, history: histories, lacks }).map(given => {
  const { view, history, ...rest } = given;
  const record = recordOf(view, history as Partial<BindingStatus>);
  const marked = markedOf(view);
  const schedule = scheduleOf(marked, readExpiry(marked), DEFAULTS, record);
  const lifeSeconds = Math.floor((schedule?.lifeMs ?? 0) / 1000);
  return { ...rest, view, record: { ...record, lifeSeconds } };
});

const gone: fc.Arbitrary<GoneBinding> = fc
  .record({ view: views, history: histories, seenMs: moments })
  .map(({ view, history, ...rest }) => ({ ...rest, record: recordOf(view, history as Partial<BindingStatus>) }));

/** Arbitrary observations, each binding with another name. */
export const observedBindings: fc.Arbitrary<ObservedBindings> = fc
  .record({
    mode: fc.constantFrom("Enforce", "Enforce", "Observe", "OperatorObserves"),
    isAuthorChecked: fc.boolean(),
    living: fc.array(living, { maxLength: 5 }),
    gone: fc.array(gone, { maxLength: 3 }),
    missingTargets: fc.constantFrom([], ["Deployment/db"]),
  })
  .map(observed => ({
    ...observed,
    specHash: "this",
    namespace: "team",
    serviceAccounts: ["web"],
    pinned: ["web"],
    changed: [],
    pins: undefined,
    absent: [],
    withoutSlot: { count: 0 },
    kept: [],
    living: observed.living.map((one, i) => ({
      ...one,
      view: { ...one.view, name: `b${i}`, uid: `u${i}` },
      record: { ...one.record, name: `b${i}`, uid: `u${i}` },
    })),
    gone: observed.gone.map((one, i) => ({ ...one, record: { ...one.record, name: `g${i}`, uid: `v${i}` } })),
  })) as fc.Arbitrary<ObservedBindings>;

/** Specs that the API server accepts. */
export const bindingRenewalSpecs: fc.Arbitrary<BindingRenewalSpec> = fc
  .record({
    warnBefore: fc.constantFrom("1m", "24h", "168h", "8760h"),
    renewBefore: fc.constantFrom("30s", "24h", "60h"),
    extendBy: fc.constantFrom("", "", "1m", "25h", "36h", "720h"),
    renewUntil: fc.oneof(fc.constant(null), rfc3339),
  })
  .map(spec => ({ ...DEFAULTS, ...spec }));

/** The observations of the next pass, after all writes of the plan and the status were written. */
export function applied(observed: ObservedBindings, plan: BindingPlan, now: Date): ObservedBindings {
  const intents = intentsOf(plan);
  const { lists } = reportBindings(plan, outcomesOf(plan, { result: "Executed" }), now);
  const recordNamed = (name: string): { record?: BindingStatus } => {
    const record = lists?.bindings?.find(one => one.name === name);
    return record === undefined ? {} : { record };
  };
  const patched = observed.living.map(({ view, lacks: missing }): LivingBinding => {
    const body = intents.find(({ target }) => target.name === view.name)?.body as
      | { metadata: Partial<BindingView> }
      | undefined;
    const labels = { ...view.labels, ...body?.metadata.labels };
    const annotations = { ...view.annotations, ...body?.metadata.annotations };
    return { view: { ...view, labels, annotations }, lacks: missing, ...recordNamed(view.name) };
  });
  return {
    ...observed,
    living: patched,
    gone: observed.gone.flatMap(one => {
      const { record } = recordNamed(one.record.name);
      return record === undefined ? [] : [{ ...one, record }];
    }),
  };
}
