import { apiVersionOf } from "./kinds";
import {
  APPLY,
  collectionOf,
  kindOf,
  labels,
  MERGE,
  podSpec,
  RBAC,
  roleRef,
  rules,
  SAMPLES,
  targets,
  type Sample,
  type Step,
} from "./samples";

// A recorded list of requests, of every verb and kind that the operator uses, which simulated and real API servers must answer alike.
// `{ns}` stands for a namespace of the run; `$uid:Kind/name`, `$rv:Kind/name` and `$continue` for what earlier answers said.

/** Older than all that is compared: watches begin there. */
const EARLIER = "$rv:ServiceAccount/earlier";

const OTHER_UID = "00000000-0000-0000-0000-000000000000";

/** Kinds whose names may be anything. */
const FREE_NAMES = /Role|PodDisruptionBudget/;

/** What one kind is asked. */
function stepsOf(sample: Sample): Step[] {
  const { fields, change, isRestless } = sample;
  const info = kindOf(sample);
  const { kind, isNamespaced } = info;
  const [apiVersion, all] = [apiVersionOf(info), collectionOf(sample)];
  const name = isNamespaced ? "a" : "{ns}-a";
  const [one, none] = [`${all}/${name}`, `${all}/${name}-none`];
  const make = (metadata: object, more: object = {}): object => ({ apiVersion, kind, metadata, ...fields, ...more });
  const [uid, rv] = [`$uid:${kind}/${name}`, `$rv:${kind}/${name}`];
  const step = (title: string, method: Step["method"], path: string, body?: unknown): Step => ({
    ...{ title: `${kind}: ${title}`, method, path },
    ...(body !== undefined && { body }),
  });
  const patch = (title: string, path: string, body: unknown): Step => ({
    ...step(title, "PATCH", path, body),
    contentType: MERGE,
  });
  const apply = (title: string, path: string, metadata: object): Step => ({
    ...step(title, "PATCH", `${path}?fieldManager=applier&force=true`, { apiVersion, kind, metadata }),
    contentType: APPLY,
  });
  const marked = { uid, annotations: { note: "us" } };
  return [
    step("create", "POST", `${all}?fieldManager=controller-resilience&fieldValidation=Strict`, make({ name, labels })),
    step("create again", "POST", all, make({ name })),
    ...(FREE_NAMES.test(kind) ? [] : [step("create with a bad name", "POST", all, make({ name: "Not_A_Name" }))]),
    ...(isNamespaced
      ? [step("create in another namespace", "POST", all, make({ name: "b", namespace: "other" }))]
      : []),
    step(
      "create with an unknown field, strictly",
      "POST",
      `${all}?fieldValidation=Strict`,
      make({ name: "b" }, { none: 1 }),
    ),
    step("get", "GET", one),
    step("get none", "GET", none),
    step("list by name", "GET", `${all}?fieldSelector=metadata.name%3D${name}`),
    step("list by a field that cannot select", "GET", `${all}?fieldSelector=spec.none%3Da`),
    step(
      "watch",
      "GET",
      `${all}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D${name}&resourceVersion=${EARLIER}`,
    ),
    patch("patch a label", one, { metadata: { labels: { next: "1" } } }),
    patch("patch nothing", one, { metadata: { labels: { next: "1" } } }),
    patch("patch with preconditions", `${one}?fieldManager=controller-resilience&fieldValidation=Strict`, {
      metadata: { uid, ...(isRestless === true ? {} : { resourceVersion: rv }), annotations: { a: "b" } },
    }),
    patch("patch an old version", one, { metadata: { resourceVersion: "1", labels: { next: "2" } } }),
    patch("patch another uid", one, { metadata: { uid: OTHER_UID } }),
    patch("patch none", none, { metadata: {} }),
    patch("patch an unknown field, strictly", `${one}?fieldValidation=Strict`, { none: 1 }),
    ...(change === undefined ? [] : [patch("patch a field", one, change)]),
    step("update another name", "PUT", one, make({ name: "b", resourceVersion: rv })),
    step("update another uid", "PUT", one, make({ name, uid: OTHER_UID, resourceVersion: rv })),
    step("update an old version", "PUT", one, make({ name, resourceVersion: "1" })),
    ...(isRestless === true || kind === "Pod"
      ? []
      : [step("update", "PUT", `${one}?fieldManager=other`, make({ name, resourceVersion: rv, labels }))]),
    apply("apply", one, marked),
    apply("apply nothing new", one, marked),
    ...(isRestless === true ? [apply("apply to none", none, { uid: OTHER_UID })] : []),
    apply("give up what was applied", one, { uid }),
    step("get after all", "GET", one),
    step("delete another uid", "DELETE", one, { preconditions: { uid: OTHER_UID } }),
    step("delete an old version", "DELETE", one, { preconditions: { resourceVersion: "1" } }),
    // These two answer with the object.
    ...(["Pod", "ServiceAccount"].includes(kind) ? [] : [step("delete", "DELETE", one, { preconditions: { uid } })]),
    step("delete none", "DELETE", none, {}),
  ];
}

const PODS = "/api/v1/namespaces/{ns}/pods";
const OURS = "/apis/controller-resilience.io/v1alpha1/namespaces/{ns}/controllerresiliences";
const ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

const get = (title: string, path: string, more: Partial<Step> = {}): Step => ({ title, method: "GET", path, ...more });
const post = (title: string, path: string, body: unknown, more: Partial<Step> = {}): Step => ({
  title,
  method: "POST",
  path,
  body,
  ...more,
});
const patch = (title: string, path: string, body: unknown): Step => ({
  title,
  method: "PATCH",
  path,
  body,
  contentType: MERGE,
});

const evict = (name: string, deleteOptions: object = {}): Step =>
  post(`evict ${name}`, `${PODS}/${name}/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace: "{ns}", name },
    deleteOptions,
  });

const BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets";

/** What the disruption controller of the real cluster writes by itself. */
const budgetStatus = (title: string, status: object): Step => patch(title, `${BUDGETS}/b2/status`, { status });

/** Takes a second: the controllers of the real cluster are done then. */
const WAIT: Step = get(
  "wait",
  `${BUDGETS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dnone&resourceVersion=${EARLIER}`,
);

/** Pods and budgets. */
const EVICTIONS: readonly Step[] = [
  post("create e1", PODS, { metadata: { name: "e1" }, spec: podSpec }),
  evict("e1", { preconditions: { uid: "other" } }),
  evict("e1", { preconditions: { uid: "$uid:Pod/e1" } }),
  evict("e1"),
  ...["e2", "e3"].flatMap(name => [
    post(`create ${name}`, PODS, {
      metadata: { name, labels: { app: name } },
      spec: { ...podSpec, nodeName: "nowhere" },
    }),
    patch(`run ${name}`, `${PODS}/${name}/status`, {
      status: {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True", lastTransitionTime: "2025-01-01T00:00:00Z" }],
      },
    }),
  ]),
  ...["b2", "b3"].map((name, at) =>
    post(`budget ${name}`, "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", {
      metadata: { name },
      spec: { minAvailable: 1, selector: { matchLabels: { app: at === 0 ? "e2" : "e3" } } },
    }),
  ),
  post("budget b3b", "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets", {
    metadata: { name: "b3b" },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: "e3" } } },
  }),
  budgetStatus("b2 allows none", {
    observedGeneration: 1,
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 1,
    expectedPods: 1,
  }),
  WAIT,
  evict("e2"),
  evict("e3"),
  patch("b2 needs none", `${BUDGETS}/b2`, { spec: { minAvailable: 0 } }),
  budgetStatus("b2 allows one", {
    observedGeneration: 2,
    disruptionsAllowed: 1,
    currentHealthy: 1,
    desiredHealthy: 0,
    expectedPods: 1,
  }),
  WAIT,
  evict("e2", { preconditions: { uid: "$uid:Pod/e2" } }),
  get("the evicted pod", `${PODS}/e2`),
  evict("none"),
  get("the pods of a node", `${PODS}?fieldSelector=spec.nodeName%3Dnowhere`),
];

const LOGS: readonly Step[] = [
  post("create a pod for its log", PODS, { metadata: { name: "log" }, spec: podSpec }),
  get("log of a container that is none", `${PODS}/log/log?container=none`),
  get("log of a pod without a node", `${PODS}/log/log?container=main`),
  get("log of none", `${PODS}/none/log?container=main`),
];

const [MANAGER, STRICT] = ["controller-resilience", "fieldValidation=Strict"];

function putStatus(title: string, more: object, query = ""): Step {
  const metadata = { name: "own", namespace: "{ns}", resourceVersion: "$rv:ControllerResilience/own" };
  const type = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" };
  const body = { ...type, metadata, spec: { targets }, ...more };
  return { title, method: "PUT", path: `${OURS}/own/status${query}`, body };
}

/** Status, defaults and rules of this project's own kind. */
const OWN: readonly Step[] = [
  post("create ours", OURS, {
    apiVersion: "controller-resilience.io/v1alpha1",
    kind: "ControllerResilience",
    metadata: { name: "own" },
    spec: { targets, tokenRestart: {}, bindingRenewal: {}, flowIsolation: {} },
  }),
  get("ours with defaults", `${OURS}/own`),
  putStatus(
    "write status",
    { status: { observedGeneration: 1, restartsTotal: 2 } },
    `?fieldManager=${MANAGER}&${STRICT}`,
  ),
  putStatus("write status of an old version", { metadata: { name: "own", resourceVersion: "1" }, status: {} }),
  putStatus("write status without a version", { metadata: { name: "own" }, status: {} }),
  putStatus("write an unknown status", { status: { none: 1 } }, `?${STRICT}`),
  putStatus("write a wrong status", { status: { restartsTotal: "two" } }),
  putStatus("write status of another uid", {
    metadata: { name: "own", uid: "other", resourceVersion: "$rv:ControllerResilience/own" },
    status: {},
  }),
  patch("set the finalizer", `${OURS}/own?fieldManager=controller-resilience&fieldValidation=Strict`, {
    metadata: {
      uid: "$uid:ControllerResilience/own",
      resourceVersion: "$rv:ControllerResilience/own",
      finalizers: ["controller-resilience.io/cleanup"],
    },
  }),
  patch("a mode that is none", `${OURS}/own`, { spec: { mode: "Maybe" } }),
  patch("too many restarts", `${OURS}/own`, { spec: { tokenRestart: { maxRestarts: 21 } } }),
  patch("no targets", `${OURS}/own`, { spec: { targets: [] } }),
  patch("a number as text", `${OURS}/own`, { spec: { tokenRestart: { maxRestarts: "3" } } }),
  patch("no spec", `${OURS}/own`, { spec: null }),
  patch("the same evidence twice", `${OURS}/own`, { spec: { tokenRestart: { evidence: ["Logs", "Logs"] } } }),
  { title: "delete with a finalizer", method: "DELETE", path: `${OURS}/own` },
  get("ours while it goes", `${OURS}/own`),
  patch("drop the finalizer", `${OURS}/own`, { metadata: { finalizers: [] } }),
  get("ours, gone", `${OURS}/own`),
];

const EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events";
const event = {
  ...{
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: "e" },
    eventTime: "2026-01-01T00:00:00.000000Z",
  },
  ...{
    reportingController: "controller-resilience",
    reportingInstance: "x",
    type: "Normal",
    reason: "PodEvicted",
    action: "Evict",
    note: "text",
  },
  regarding: { apiVersion: "v1", kind: "Pod", namespace: "{ns}", name: "a" },
};

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";

/** An update creates a Lease that is none. */
const lease = (name: string, method: "POST" | "PUT", path: string): Step => ({
  title: `${method} the Lease ${name}`,
  ...{ method, path },
  body: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec: { holderIdentity: "a" } },
});

const OTHERS: readonly Step[] = [
  post("create an Event", EVENTS, event),
  get("the Event in the core group", "/api/v1/namespaces/{ns}/events/e"),
  get("Events of a reason", "/api/v1/namespaces/{ns}/events?fieldSelector=reason%3DPodEvicted"),
  get("Events of another reason", "/api/v1/namespaces/{ns}/events?fieldSelector=reason%3DFailedCreatePodSandBox"),
  ...["p1", "p2", "p3"].map(name => ({ ...lease(name, "POST", LEASES), title: `create ${name}` })),
  lease("p4", "PUT", `${LEASES}/p4`),
  get("Leases of all namespaces but this one", `${LEASES}?fieldSelector=metadata.namespace%21%3D{ns}`),
  get("Leases of all namespaces but another", `${LEASES}?fieldSelector=metadata.namespace%21%3Dnone`),
  get("a page", `${LEASES}?limit=2`),
  get("the next page", `${LEASES}?limit=2&continue=$continue`),
  get("metadata only", LEASES, {
    accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
  }),
  get("the namespace", "/api/v1/namespaces/{ns}"),
  get("a resource that is not served", "/api/v1/nothings"),
  get("keys", "/openid/v1/jwks", { accept: "application/jwk-set+json" }),
  get("a path that is none", "/none"),
  {
    title: "a pod of no account",
    method: "POST",
    path: PODS,
    body: { metadata: { name: "x" }, spec: { ...podSpec, serviceAccountName: "nobody" } },
  },
  {
    title: "in no namespace",
    method: "POST",
    path: "/api/v1/namespaces/{ns}-none/pods",
    body: { metadata: { name: "x" }, spec: podSpec },
  },
];

const review = (title: string, attributes: object): Step =>
  post(
    title,
    ACCESS_REVIEWS,
    { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: attributes },
    { isLimited: true },
  );

/** With few rights. */
const LIMITED: readonly Step[] = [
  post("create the account", "/api/v1/namespaces/{ns}/serviceaccounts", { metadata: { name: "limited" } }),
  post("create its role", `/apis/${RBAC}/v1/namespaces/{ns}/roles`, {
    metadata: { name: "limited" },
    rules: [
      ...rules,
      { apiGroups: [RBAC], resources: ["rolebindings"], verbs: ["get", "patch"] },
      { apiGroups: [RBAC], resources: ["roles"], resourceNames: ["limited"], verbs: ["bind"] },
    ],
  }),
  post("bind its role", `/apis/${RBAC}/v1/namespaces/{ns}/rolebindings`, {
    metadata: { name: "limited" },
    roleRef: { apiGroup: RBAC, kind: "Role", name: "limited" },
    subjects: [{ kind: "ServiceAccount", name: "limited", namespace: "{ns}" }],
  }),
  post("bind more", `/apis/${RBAC}/v1/namespaces/{ns}/rolebindings`, {
    metadata: { name: "more" },
    roleRef,
    subjects: [],
  }),
  post("issue its token", "/api/v1/namespaces/{ns}/serviceaccounts/limited/token", {
    spec: { expirationSeconds: 3600 },
  }),
  ...[
    "/api/v1/pods",
    "/api/v1/namespaces",
    PODS,
    `${PODS}/none`,
    `${PODS}/none/log`,
    "/metrics",
    OURS,
    "/apis/none.io/v1/things",
  ].map(path => get(`limited: ${path}`, path, { isLimited: true })),
  review("may get pods", { resourceAttributes: { group: "", resource: "pods", verb: "get", namespace: "{ns}" } }),
  review("may list pods", { resourceAttributes: { group: "", resource: "pods", verb: "list", namespace: "{ns}" } }),
  review("may get metrics", { nonResourceAttributes: { path: "/metrics", verb: "get" } }),
  review("may get pods elsewhere", { resourceAttributes: { group: "", resource: "pods", verb: "get" } }),
  {
    ...patch("limited: renew its own binding", `/apis/${RBAC}/v1/namespaces/{ns}/rolebindings/limited`, {
      metadata: { annotations: { a: "b" } },
    }),
    isLimited: true,
  },
  {
    ...patch("limited: renew a binding of more rights", `/apis/${RBAC}/v1/namespaces/{ns}/rolebindings/more`, {
      metadata: { annotations: { a: "b" } },
    }),
    isLimited: true,
  },
];

/** All requests, in order. */
export const REQUESTS: readonly Step[] = [
  post("create an earlier object", "/api/v1/namespaces/{ns}/serviceaccounts", { metadata: { name: "earlier" } }),
  ...SAMPLES.flatMap(stepsOf),
  ...EVICTIONS,
  ...LOGS,
  ...OWN,
  ...OTHERS,
  ...LIMITED,
];
