import { apiVersionOf } from "./kinds";
import { APPLY, collectionOf, kindOf, labels, MERGE, podSpec, RBAC, roleRef, rules, SAMPLES, targets } from "./samples";
import type { Sample, Step } from "./samples";

// A recorded list of requests, of every verb and kind that the operator uses, which simulated and real API servers must answer alike.
// `{ns}` stands for a namespace of the run; `$uid:Kind/name`, `$rv:Kind/name` and `$continue` for what earlier answers said.

/** A request, such as `GET /api/v1/pods`; a PATCH is a merge patch, unless more says otherwise. */
function step(title: string, request: string, body?: unknown, more: Partial<Step> = {}): Step {
  const [method, path] = request.split(" ") as [Step["method"], string];
  const contentType = method === "PATCH" ? { contentType: MERGE } : {};
  return { title, method, path, ...(body !== undefined && { body }), ...contentType, ...more };
}

const [US, STRICT] = ["fieldManager=controller-resilience", "fieldValidation=Strict"];

/** Older than all that is compared: watches begin there. */
const EARLIER = "$rv:ServiceAccount/earlier";

const OTHER_UID = "00000000-0000-0000-0000-000000000000";

/** Kinds whose names may be anything. */
const FREE_NAMES = /Role|PodDisruptionBudget/;

const named = (name: string): string => `fieldSelector=metadata.name%3D${name}`;

const watched = (name: string): string => `watch=true&timeoutSeconds=1&${named(name)}&resourceVersion=${EARLIER}`;

/** What one kind is asked. */
function stepsOf(sample: Sample): Step[] {
  const { fields, change, isRestless = false } = sample;
  const info = kindOf(sample);
  const { kind, isNamespaced } = info;
  const [apiVersion, all] = [apiVersionOf(info), collectionOf(sample)];
  const name = isNamespaced ? "a" : "{ns}-a";
  const [one, none] = [`${all}/${name}`, `${all}/${name}-none`];
  const make = (metadata: object, more: object = {}): object => ({ apiVersion, kind, metadata, ...fields, ...more });
  const [uid, rv] = [`$uid:${kind}/${name}`, `$rv:${kind}/${name}`];
  const ask = (title: string, request: string, body?: unknown): Step => step(`${kind}: ${title}`, request, body);
  const apply = (title: string, path: string, metadata: object): Step => ({
    ...ask(title, `PATCH ${path}?fieldManager=applier&force=true`, { apiVersion, kind, metadata }),
    contentType: APPLY,
  });
  const marked = { uid, annotations: { note: "us" } };
  const only = (isAsked: boolean, made: () => Step): Step[] => (isAsked ? [made()] : []);
  return [
    ask("create", `POST ${all}?${US}&${STRICT}`, make({ name, labels })),
    ask("create again", `POST ${all}`, make({ name })),
    ...only(!FREE_NAMES.test(kind), () => ask("create with a bad name", `POST ${all}`, make({ name: "Not_A_Name" }))),
    ...only(isNamespaced, () =>
      ask("create in another namespace", `POST ${all}`, make({ name: "b", namespace: "other" })),
    ),
    ask("create with an unknown field, strictly", `POST ${all}?${STRICT}`, make({ name: "b" }, { none: 1 })),
    ask("get", `GET ${one}`),
    ask("get none", `GET ${none}`),
    ask("list by name", `GET ${all}?${named(name)}`),
    ask("list by a field that cannot select", `GET ${all}?fieldSelector=spec.none%3Da`),
    ask("watch", `GET ${all}?${watched(name)}`),
    ask("patch a label", `PATCH ${one}`, { metadata: { labels: { next: "1" } } }),
    ask("patch nothing", `PATCH ${one}`, { metadata: { labels: { next: "1" } } }),
    ask("patch with preconditions", `PATCH ${one}?${US}&${STRICT}`, {
      metadata: { uid, ...(isRestless ? {} : { resourceVersion: rv }), annotations: { a: "b" } },
    }),
    ask("patch an old version", `PATCH ${one}`, { metadata: { resourceVersion: "1", labels: { next: "2" } } }),
    ask("patch another uid", `PATCH ${one}`, { metadata: { uid: OTHER_UID } }),
    ask("patch none", `PATCH ${none}`, { metadata: {} }),
    ask("patch an unknown field, strictly", `PATCH ${one}?${STRICT}`, { none: 1 }),
    ...only(change !== undefined, () => ask("patch a field", `PATCH ${one}`, change)),
    ask("update another name", `PUT ${one}`, make({ name: "b", resourceVersion: rv })),
    ask("update another uid", `PUT ${one}`, make({ name, uid: OTHER_UID, resourceVersion: rv })),
    ask("update an old version", `PUT ${one}`, make({ name, resourceVersion: "1" })),
    ...only(!isRestless && kind !== "Pod", () =>
      ask("update", `PUT ${one}?fieldManager=other`, make({ name, resourceVersion: rv, labels })),
    ),
    apply("apply", one, marked),
    apply("apply nothing new", one, marked),
    ...only(isRestless, () => apply("apply to none", none, { uid: OTHER_UID })),
    apply("give up what was applied", one, { uid }),
    ask("get after all", `GET ${one}`),
    ask("delete another uid", `DELETE ${one}`, { preconditions: { uid: OTHER_UID } }),
    ask("delete an old version", `DELETE ${one}`, { preconditions: { resourceVersion: "1" } }),
    // These two answer with the object.
    ...only(!["Pod", "ServiceAccount"].includes(kind), () =>
      ask("delete", `DELETE ${one}`, { preconditions: { uid } }),
    ),
    ask("delete none", `DELETE ${none}`, {}),
  ];
}

const SPACE = "/api/v1/namespaces/{ns}";
const PODS = `${SPACE}/pods`;
const OURS = "/apis/controller-resilience.io/v1alpha1/namespaces/{ns}/controllerresiliences";

const evict = (name: string, deleteOptions: object = {}): Step =>
  step(`evict ${name}`, `POST ${PODS}/${name}/eviction`, {
    ...{ apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace: "{ns}", name }, deleteOptions },
  });

const BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets";

const budget = (name: string, app: string, least: object = { minAvailable: 1 }): Step =>
  step(`budget ${name}`, `POST ${BUDGETS}`, {
    metadata: { name },
    spec: { ...least, selector: { matchLabels: { app } } },
  });

/** What the disruption controller of the real cluster writes by itself. */
const budgetStatus = (title: string, [observedGeneration, disruptionsAllowed, desiredHealthy]: number[]): Step =>
  step(title, `PATCH ${BUDGETS}/b2/status`, {
    status: { observedGeneration, disruptionsAllowed, currentHealthy: 1, desiredHealthy, expectedPods: 1 },
  });

/** Takes a second: the controllers of the real cluster are done then. */
const WAIT = step("wait", `GET ${BUDGETS}?${watched("none")}`);

const READY = { type: "Ready", status: "True", lastTransitionTime: "2025-01-01T00:00:00Z" };

/** Pods and budgets. */
const EVICTIONS: readonly Step[] = [
  step("create e1", `POST ${PODS}`, { metadata: { name: "e1" }, spec: podSpec }),
  evict("e1", { preconditions: { uid: "other" } }),
  evict("e1", { preconditions: { uid: "$uid:Pod/e1" } }),
  evict("e1"),
  ...["e2", "e3"].flatMap(name => [
    step(`create ${name}`, `POST ${PODS}`, {
      metadata: { name, labels: { app: name } },
      spec: { ...podSpec, nodeName: "nowhere" },
    }),
    step(`run ${name}`, `PATCH ${PODS}/${name}/status`, { status: { phase: "Running", conditions: [READY] } }),
  ]),
  ...[budget("b2", "e2"), budget("b3", "e3"), budget("b3b", "e3", { maxUnavailable: 1 })],
  budgetStatus("b2 allows none", [1, 0, 1]),
  WAIT,
  evict("e2"),
  evict("e3"),
  step("b2 needs none", `PATCH ${BUDGETS}/b2`, { spec: { minAvailable: 0 } }),
  budgetStatus("b2 allows one", [2, 1, 0]),
  WAIT,
  evict("e2", { preconditions: { uid: "$uid:Pod/e2" } }),
  step("the evicted pod", `GET ${PODS}/e2`),
  evict("none"),
  step("the pods of a node", `GET ${PODS}?fieldSelector=spec.nodeName%3Dnowhere`),
];

const LOGS: readonly Step[] = [
  step("create a pod for its log", `POST ${PODS}`, { metadata: { name: "log" }, spec: podSpec }),
  step("log of a container that is none", `GET ${PODS}/log/log?container=none`),
  step("log of a pod without a node", `GET ${PODS}/log/log?container=main`),
  step("log of none", `GET ${PODS}/none/log?container=main`),
];

const OWN_TYPE = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" };
const OWN_RV = "$rv:ControllerResilience/own";

function putStatus(title: string, more: object, query = ""): Step {
  const metadata = { name: "own", namespace: "{ns}", resourceVersion: OWN_RV };
  return step(title, `PUT ${OURS}/own/status${query}`, { ...OWN_TYPE, metadata, spec: { targets }, ...more });
}

const patchOwn = (title: string, body: object, query = ""): Step => step(title, `PATCH ${OURS}/own${query}`, body);

const limit = (maxRestarts: unknown): object => ({ spec: { tokenRestart: { maxRestarts } } });

/** Status, defaults and rules of this project's own kind. */
const OWN: readonly Step[] = [
  step("create ours", `POST ${OURS}`, {
    ...{ ...OWN_TYPE, metadata: { name: "own" } },
    spec: { targets, tokenRestart: {}, bindingRenewal: {}, flowIsolation: {} },
  }),
  step("ours with defaults", `GET ${OURS}/own`),
  putStatus("write status", { status: { observedGeneration: 1, restartsTotal: 2 } }, `?${US}&${STRICT}`),
  putStatus("write status of an old version", { metadata: { name: "own", resourceVersion: "1" }, status: {} }),
  putStatus("write status without a version", { metadata: { name: "own" }, status: {} }),
  putStatus("write an unknown status", { status: { none: 1 } }, `?${STRICT}`),
  putStatus("write a wrong status", { status: { restartsTotal: "two" } }),
  putStatus("write status of another uid", {
    ...{ metadata: { name: "own", uid: "other", resourceVersion: OWN_RV }, status: {} },
  }),
  patchOwn(
    "set the finalizer",
    {
      metadata: {
        ...{ uid: "$uid:ControllerResilience/own", resourceVersion: OWN_RV },
        finalizers: ["controller-resilience.io/cleanup"],
      },
    },
    `?${US}&${STRICT}`,
  ),
  patchOwn("a mode that is none", { spec: { mode: "Maybe" } }),
  patchOwn("too many restarts", limit(21)),
  patchOwn("no targets", { spec: { targets: [] } }),
  patchOwn("a number as text", limit("3")),
  patchOwn("no spec", { spec: null }),
  patchOwn("the same evidence twice", { spec: { tokenRestart: { evidence: ["Logs", "Logs"] } } }),
  step("delete with a finalizer", `DELETE ${OURS}/own`),
  step("ours while it goes", `GET ${OURS}/own`),
  patchOwn("drop the finalizer", { metadata: { finalizers: [] } }),
  step("ours, gone", `GET ${OURS}/own`),
];

const EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events";
const event = {
  ...{ apiVersion: "events.k8s.io/v1", kind: "Event", metadata: { name: "e" } },
  ...{ eventTime: "2026-01-01T00:00:00.000000Z", type: "Normal", reason: "PodEvicted", action: "Evict", note: "text" },
  ...{ reportingController: "controller-resilience", reportingInstance: "x" },
  regarding: { apiVersion: "v1", kind: "Pod", namespace: "{ns}", name: "a" },
};

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases";

/** An update creates a Lease that is none. */
const lease = (title: string, request: string, name: string): Step =>
  step(title, request, {
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec: { holderIdentity: "a" } },
  });

const OTHERS: readonly Step[] = [
  step("create an Event", `POST ${EVENTS}`, event),
  step("the Event in the core group", `GET ${SPACE}/events/e`),
  step("Events of a reason", `GET ${SPACE}/events?fieldSelector=reason%3DPodEvicted`),
  step("Events of another reason", `GET ${SPACE}/events?fieldSelector=reason%3DFailedCreatePodSandBox`),
  ...["p1", "p2", "p3"].map(name => lease(`create ${name}`, `POST ${LEASES}`, name)),
  lease("PUT the Lease p4", `PUT ${LEASES}/p4`, "p4"),
  step("Leases of all namespaces but this one", `GET ${LEASES}?fieldSelector=metadata.namespace%21%3D{ns}`),
  step("Leases of all namespaces but another", `GET ${LEASES}?fieldSelector=metadata.namespace%21%3Dnone`),
  step("a page", `GET ${LEASES}?limit=2`),
  step("the next page", `GET ${LEASES}?limit=2&continue=$continue`),
  step("metadata only", `GET ${LEASES}`, undefined, {
    accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
  }),
  step("the namespace", `GET ${SPACE}`),
  step("a resource that is not served", "GET /api/v1/nothings"),
  step("keys", "GET /openid/v1/jwks", undefined, { accept: "application/jwk-set+json" }),
  step("a path that is none", "GET /none"),
  step("a pod of no account", `POST ${PODS}`, {
    metadata: { name: "x" },
    spec: { ...podSpec, serviceAccountName: "nobody" },
  }),
  step("in no namespace", `POST ${SPACE}-none/pods`, { metadata: { name: "x" }, spec: podSpec }),
];

const ROLES = `/apis/${RBAC}/v1/namespaces/{ns}`;
const LIMIT = { isLimited: true };

const review = (title: string, attributes: object): Step =>
  step(
    title,
    "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: attributes },
    LIMIT,
  );

const bound = (title: string, name: string, more: object): Step =>
  step(title, `POST ${ROLES}/rolebindings`, { metadata: { name }, ...more });

const renew = (title: string, name: string): Step =>
  step(title, `PATCH ${ROLES}/rolebindings/${name}`, { metadata: { annotations: { a: "b" } } }, LIMIT);

const pods = { group: "", resource: "pods" };

/** With few rights. */
const LIMITED: readonly Step[] = [
  step("create the account", `POST ${SPACE}/serviceaccounts`, { metadata: { name: "limited" } }),
  step("create its role", `POST ${ROLES}/roles`, {
    metadata: { name: "limited" },
    rules: [
      ...rules,
      { apiGroups: [RBAC], resources: ["rolebindings"], verbs: ["get", "patch"] },
      { apiGroups: [RBAC], resources: ["roles"], resourceNames: ["limited"], verbs: ["bind"] },
    ],
  }),
  bound("bind its role", "limited", {
    roleRef: { apiGroup: RBAC, kind: "Role", name: "limited" },
    subjects: [{ kind: "ServiceAccount", name: "limited", namespace: "{ns}" }],
  }),
  bound("bind more", "more", { roleRef, subjects: [] }),
  step("issue its token", `POST ${SPACE}/serviceaccounts/limited/token`, { spec: { expirationSeconds: 3600 } }),
  ...["/api/v1/pods", "/api/v1/namespaces", PODS, `${PODS}/none`, `${PODS}/none/log`]
    .concat("/metrics", OURS, "/apis/none.io/v1/things")
    .map(path => step(`limited: ${path}`, `GET ${path}`, undefined, LIMIT)),
  review("may get pods", { resourceAttributes: { ...pods, verb: "get", namespace: "{ns}" } }),
  review("may list pods", { resourceAttributes: { ...pods, verb: "list", namespace: "{ns}" } }),
  review("may get metrics", { nonResourceAttributes: { path: "/metrics", verb: "get" } }),
  review("may get pods elsewhere", { resourceAttributes: { ...pods, verb: "get" } }),
  renew("limited: renew its own binding", "limited"),
  renew("limited: renew a binding of more rights", "more"),
];

/** All requests, in order. */
export const REQUESTS: readonly Step[] = [
  step("create an earlier object", `POST ${SPACE}/serviceaccounts`, { metadata: { name: "earlier" } }),
  ...SAMPLES.flatMap(stepsOf),
  ...[...EVICTIONS, ...LOGS, ...OWN, ...OTHERS, ...LIMITED],
];
