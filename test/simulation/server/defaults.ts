import { arrayOf, isObject } from "../../../src/core/json";
import type { Obj } from "./objects";

// Defaults of built-in kinds (kubernetes/kubernetes pkg/apis/*/v1/defaults.go), as far as a world or the comparison with a real server can see them.

type Fields = Record<string, unknown>;

/** Sets what is absent. */
function set(into: Fields, defaults: Fields): void {
  for (const [field, value] of Object.entries(defaults)) into[field] ??= value;
}

function each(list: unknown): Fields[] {
  return arrayOf(list).filter(isObject);
}

/** Returns a field as an object; makes one if it is absent. */
function part(of: Fields, field: string): Fields {
  const value = of[field];
  if (isObject(value)) return value;
  const made = {};
  of[field] = made;
  return made;
}

function defaultContainer(container: Fields): void {
  const image = typeof container["image"] === "string" ? container["image"] : "";
  const isLatest =
    !image.includes("@") && (image.endsWith(":latest") || !image.slice(image.lastIndexOf("/") + 1).includes(":"));
  set(container, {
    resources: {},
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: isLatest ? "Always" : "IfNotPresent",
  });
}

function defaultVolume({ projected }: Fields): void {
  if (!isObject(projected)) return;
  set(projected, { defaultMode: 420 });
  for (const { serviceAccountToken } of each(projected["sources"]))
    if (isObject(serviceAccountToken)) set(serviceAccountToken, { expirationSeconds: 3600 });
}

/** Defaults of a pod's spec, or a template's. */
function defaultPodSpec(spec: Fields): void {
  set(spec, { restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler" });
  set(spec, { terminationGracePeriodSeconds: 30, securityContext: {} });
  const account = spec["serviceAccountName"] ?? spec["serviceAccount"];
  if (account !== undefined) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });
  for (const container of [...each(spec["initContainers"]), ...each(spec["containers"])]) defaultContainer(container);
  for (const volume of each(spec["volumes"])) defaultVolume(volume);
}

function defaultTemplate(spec: Fields): void {
  const template = part(spec, "template");
  part(template, "metadata");
  defaultPodSpec(part(template, "spec"));
}

function defaultDeployment(spec: Fields): void {
  set(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {} });
  const strategy = part(spec, "strategy");
  set(strategy, { type: "RollingUpdate" });
  if (strategy["type"] === "RollingUpdate")
    set(part(strategy, "rollingUpdate"), { maxSurge: "25%", maxUnavailable: "25%" });
}

function defaultDaemonSet(spec: Fields): void {
  set(spec, { revisionHistoryLimit: 10 });
  const strategy = part(spec, "updateStrategy");
  set(strategy, { type: "RollingUpdate" });
  if (strategy["type"] === "RollingUpdate") set(part(strategy, "rollingUpdate"), { maxSurge: 0, maxUnavailable: 1 });
}

function defaultStatefulSet(spec: Fields): void {
  set(spec, { replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: "OrderedReady", serviceName: "" });
  set(spec, { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" } });
  const strategy = part(spec, "updateStrategy");
  set(strategy, { type: "RollingUpdate" });
  if (strategy["type"] === "RollingUpdate") set(part(strategy, "rollingUpdate"), { partition: 0 });
}

function defaultLevel(spec: Fields): void {
  if (spec["type"] === "Limited") set(part(spec, "limited"), { nominalConcurrencyShares: 30, lendablePercent: 0 });
}

const RBAC_GROUP = "rbac.authorization.k8s.io";

function defaultBinding(object: Obj): void {
  set(part(object, "roleRef"), { apiGroup: RBAC_GROUP });
  if (Array.isArray(object["subjects"]) && object["subjects"].length === 0) Reflect.deleteProperty(object, "subjects");
  for (const subject of each(object["subjects"]))
    if (subject["kind"] !== "ServiceAccount") set(subject, { apiGroup: RBAC_GROUP });
}

function defaultRole(object: Obj): void {
  if (Array.isArray(object["rules"]) && object["rules"].length === 0) object["rules"] = null;
}

function defaultBudget(object: Obj): void {
  set(part(object, "status"), { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 });
}

function defaultSlice(object: Obj): void {
  for (const endpoint of each(object["endpoints"])) set(endpoint, { conditions: {} });
  if (Array.isArray(object["endpoints"]) && object["endpoints"].length === 0) object["endpoints"] = null;
}

function defaultPod(object: Obj): void {
  const spec = part(object, "spec");
  set(spec, { enableServiceLinks: true });
  defaultPodSpec(spec);
}

/** What admission adds to a new pod. */
export function defaultNewPod(object: Obj): void {
  const spec = part(object, "spec");
  set(spec, { priority: 0, preemptionPolicy: "PreemptLowerPriority", serviceAccountName: "default" });
  set(spec, { serviceAccount: spec["serviceAccountName"] });
  const tolerations = each(spec["tolerations"]);
  const isMissing = (key: string): boolean => !tolerations.some(one => one["key"] === key || one["key"] === undefined);
  const keys = ["not-ready", "unreachable"].map(name => `node.kubernetes.io/${name}`);
  const lasting = { operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 };
  spec["tolerations"] = [...tolerations, ...keys.filter(isMissing).map(key => ({ key, ...lasting }))];
  object["status"] ??= { phase: "Pending", qosClass: "BestEffort" };
}

function defaultNamespace(object: Obj): void {
  const { metadata } = object;
  metadata.labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
  if (metadata.deletionTimestamp !== undefined) return;
  set(part(object, "spec"), { finalizers: ["kubernetes"] });
  set(part(object, "status"), { phase: "Active" });
}

type Default = (object: Obj) => void;

const withSpec =
  (...defaults: ((spec: Fields) => void)[]): Default =>
  object => {
    for (const one of defaults) one(part(object, "spec"));
  };

const DEFAULTS: Readonly<Record<string, Default>> = {
  pods: defaultPod,
  namespaces: defaultNamespace,
  deployments: withSpec(defaultDeployment, defaultTemplate),
  replicasets: withSpec(spec => set(spec, { replicas: 1 }), defaultTemplate),
  daemonsets: withSpec(defaultDaemonSet, defaultTemplate),
  statefulsets: withSpec(defaultStatefulSet, defaultTemplate),
  flowschemas: withSpec(spec => set(spec, { matchingPrecedence: 1000 })),
  prioritylevelconfigurations: withSpec(defaultLevel),
  events: object => set(object, { source: {} }),
  poddisruptionbudgets: defaultBudget,
  endpointslices: defaultSlice,
  roles: defaultRole,
  clusterroles: defaultRole,
  rolebindings: defaultBinding,
  clusterrolebindings: defaultBinding,
};

/** Sets the defaults of a built-in kind. */
export function defaultBuiltIn(resource: string, object: Obj): void {
  DEFAULTS[resource]?.(object);
}
