import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { kindOfDefinition } from "./kinds";
import type { NewObj, Obj } from "./objects";
import type { Store } from "./store";

// What every cluster has before anything is installed, but for the flows of its nodes and controllers, and the definitions of this project.

const LEVELS: readonly (readonly [name: string, shares: number | "Exempt", queues?: readonly number[]])[] = [
  ["exempt", "Exempt"],
  ["catch-all", 5],
  ["leader-election", 10, [16, 4, 50]],
  ["workload-high", 40, [128, 6, 50]],
  ["workload-low", 100, [128, 6, 50]],
  ["global-default", 20, [128, 6, 50]],
];

const ALL = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] };
const ALL_URLS = { verbs: ["*"], nonResourceURLs: ["*"] };
const group = (name: string): object => ({ kind: "Group", group: { name } });
const account = (namespace: string, name = "*"): object => ({
  kind: "ServiceAccount",
  serviceAccount: { namespace, name },
});
const user = (name: string): object => ({ kind: "User", user: { name } });
const everything = (...subjects: object[]): object => ({
  subjects,
  resourceRules: [ALL],
  nonResourceRules: [ALL_URLS],
});
const leases = (...subjects: object[]): object => ({
  subjects,
  resourceRules: [
    {
      verbs: ["get", "create", "update"],
      apiGroups: ["coordination.k8s.io"],
      resources: ["leases"],
      namespaces: ["*"],
    },
  ],
});

const ANYONE = [group("system:unauthenticated"), group("system:authenticated")];
const PROBES = [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }];

const FLOWS: readonly (readonly [name: string, precedence: number, level: string, rules: readonly object[]])[] = [
  ["exempt", 1, "exempt", [everything(group("system:masters"))]],
  ["probes", 2, "exempt", [{ subjects: ANYONE, nonResourceRules: PROBES }]],
  [
    "system-leader-election",
    100,
    "leader-election",
    [leases(user("system:kube-controller-manager"), user("system:kube-scheduler"), account("kube-system"))],
  ],
  ["workload-leader-election", 200, "leader-election", [leases(account("kube-system"))]],
  ["kube-system-service-accounts", 900, "workload-high", [everything(account("kube-system"))]],
  ["service-accounts", 9_000, "workload-low", [everything(group("system:serviceaccounts"))]],
  ["global-default", 9_900, "global-default", [everything(...ANYONE)]],
  ["catch-all", 10_000, "catch-all", [everything(...ANYONE)]],
];

const ROLES = [
  {
    metadata: { name: "cluster-admin" },
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
  },
  {
    metadata: { name: "view" },
    rules: [
      { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["pods", "pods/log", "services", "configmaps"] },
    ],
  },
];

const NAMESPACES = ["default", "kube-node-lease", "kube-public", "kube-system"];

/** Creates what is missing of it. */
export function bootstrap(store: Store): void {
  const by = { manager: "api-priority-and-fairness-config-producer-v1" };
  for (const name of NAMESPACES) ensure(store, "namespaces", { metadata: { name } });
  for (const role of ROLES) ensure(store, "clusterroles", role);
  store.as(by, () => {
    for (const [name, shares, queues] of LEVELS)
      ensure(store, "prioritylevelconfigurations", { metadata: { name }, spec: levelSpec(shares, queues) });
    for (const [name, matchingPrecedence, level, rules] of FLOWS) {
      const distinguisherMethod = { type: "ByUser" };
      const spec = { distinguisherMethod, matchingPrecedence, priorityLevelConfiguration: { name: level }, rules };
      ensure(store, "flowschemas", { metadata: { name }, spec });
    }
  });
}

function levelSpec(shares: number | "Exempt", queues?: readonly number[]): object {
  if (shares === "Exempt") return { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } };
  const [count = 0, handSize = 0, queueLengthLimit = 0] = queues ?? [];
  const limitResponse =
    queues === undefined
      ? { type: "Reject" }
      : { type: "Queue", queuing: { queues: count, handSize, queueLengthLimit } };
  return { type: "Limited", limited: { nominalConcurrencyShares: shares, lendablePercent: 0, limitResponse } };
}

function ensure(store: Store, resource: string, object: NewObj): void {
  if (store.get(resource, object.metadata.namespace, object.metadata.name ?? "") === undefined)
    store.create(resource, object);
}

const CLEANUP = "customresourcecleanup.apiextensions.k8s.io";

const read = new Map<string, NewObj>();

/** A definition of this repository. */
export function readDefinition(file: string): NewObj {
  const known = read.get(file);
  if (known !== undefined) return known;
  const definition = parse(readFileSync(join(__dirname, "../../../crds", file), "utf8")) as NewObj;
  read.set(file, definition);
  return definition;
}

/** Installs the definitions of this project. */
export function installDefinitions(store: Store): void {
  for (const file of ["controllerresilience.yaml", "clustercontrollerresilience.yaml"]) {
    const definition = readDefinition(file);
    ensure(store, "customresourcedefinitions", {
      ...definition,
      metadata: { ...definition.metadata, finalizers: [CLEANUP] },
    });
  }
}

/** A definition that goes takes its objects with it, and waits for their finalizers. */
export function collectCustomResources(store: Store, onGone: (plural: string) => void): void {
  const collect = (definition: Obj): void => {
    const plural = kindOfDefinition(definition)?.plural;
    if (plural === undefined || definition.metadata.deletionTimestamp === undefined) return;
    for (const { metadata } of store.list(plural))
      if (metadata.deletionTimestamp === undefined) store.delete(plural, metadata.namespace, metadata.name);
    if (store.list(plural).length > 0) return;
    store.update("customresourcedefinitions", undefined, definition.metadata.name, draft => {
      draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter(one => one !== CLEANUP);
    });
  };
  const followed = new Set<string>();
  const follow = (definition: Obj): void => {
    const plural = kindOfDefinition(definition)?.plural;
    if (plural === undefined || followed.has(plural)) return;
    followed.add(plural);
    store.subscribe(plural, ({ type }) => {
      const current = store.definition(plural);
      if (type === "DELETED" && current !== undefined) collect(current);
    });
  };
  store.list("customresourcedefinitions").forEach(follow);
  store.subscribe("customresourcedefinitions", ({ type, object }) => {
    follow(object);
    if (type === "MODIFIED") collect(object);
    const plural = kindOfDefinition(object)?.plural;
    if (type === "DELETED" && plural !== undefined) onGone(plural);
  });
}

/** Tells clients the addresses of the servers, as their own reconciler does. */
export function registerAddresses(store: Store, servers: readonly { readonly address: string }[]): void {
  const endpoints = servers.map(({ address }) => ({ addresses: [address], conditions: { ready: true } }));
  const ports = [{ name: "https", port: 6443, protocol: "TCP" }];
  store.as({ manager: "kube-apiserver" }, () => {
    const labels = { "kubernetes.io/service-name": "kubernetes" };
    const metadata = { name: "kubernetes", namespace: "default", labels };
    ensure(store, "endpointslices", { metadata, addressType: "IPv4", endpoints, ports });
    store.update("endpointslices", "default", "kubernetes", draft => void (draft["endpoints"] = endpoints));
  });
}

/** Each FlowSchema says whether its priority level exists, as flow control of the servers does. */
export function judgeFlowSchemas(store: Store): void {
  const judge = ({ metadata: { name }, spec, status }: Obj): void => {
    const level = spec?.priorityLevelConfiguration?.name ?? "";
    const isThere = store.get("prioritylevelconfigurations", undefined, level) !== undefined;
    const verdict = isThere ? "False" : "True";
    if (status?.conditions?.some(one => one.status === verdict) === true) return;
    const said = isThere ? "and it exists" : "but there is no such object";
    const condition = {
      ...{
        type: "Dangling",
        status: verdict,
        reason: isThere ? "Found" : "NotFound",
        lastTransitionTime: store.time(),
      },
      message: `This FlowSchema references the PriorityLevelConfiguration object named "${level}" ${said}`,
    };
    store.as({ manager: "api-priority-and-fairness-config-consumer-v1", operation: "Apply" }, () =>
      store.update("flowschemas", undefined, name, draft => void (draft.status = { conditions: [condition] })),
    );
  };
  const judgeCurrent = ({ metadata }: Obj): void => {
    const current = store.get("flowschemas", undefined, metadata.name);
    if (current !== undefined) judge(current);
  };
  store.list("flowschemas").forEach(judge);
  store.subscribe("flowschemas", ({ object }) => judgeCurrent(object));
  store.subscribe("prioritylevelconfigurations", () => store.list("flowschemas").forEach(judge));
}
