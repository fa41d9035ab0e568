import type { JsonObject } from "../../../src/core/json";
import { TerminalError } from "../../../src/core/errors";
import type { Admin } from "../../cluster/admin";
import { binding } from "../../enforcers/bindings";
import { EXPIRY } from "../../enforcers/rules";
import { NAME, objectPath, type Scene } from "../scenario";
import { BINDINGS, IN_THREE_DAYS, LABEL, NAMESPACE, ROLE, WORKLOADS } from "./world";

const RBAC = "/apis/rbac.authorization.k8s.io/v1";
const OBJECT = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" };
const HOUR_MS = 3_600_000;
const THREE_DAYS_MS = 72 * HOUR_MS;

/** Creates the objects of a namespace for the operator: one workload of each kind, and expiring bindings. */
export async function furnish({ admin, namespace }: Scene): Promise<void> {
  const core = `/api/v1/namespaces/${namespace}`;
  for (const name of Object.values(WORKLOADS)) {
    await admin.create(`${core}/serviceaccounts`, { metadata: { name } });
  }
  await Promise.all([
    ...workloads().map(([plural, body]) => admin.create(`/apis/apps/v1/namespaces/${namespace}/${plural}`, body)),
    ...bindings(namespace).map(([path, body]) => admin.create(path, body)),
  ]);
}

/** Applies the spec as `kubectl apply --server-side` does: omitted fields are removed. */
export async function apply(scene: Scene, spec: JsonObject): Promise<void> {
  const path = objectPath(scene);
  await scene.admin.api.json({
    ...{ what: `apply ${path}`, method: "PATCH", path },
    query: { fieldManager: "team", force: true, fieldValidation: "Strict" },
    contentType: "application/apply-patch+yaml",
    body: { ...OBJECT, metadata: { name: NAME }, spec: placed(spec, scene) },
  });
}

/** Replaces the spec as `kubectl replace` does. Returns the API server's error; undefined if it accepts the spec. */
export async function refusalOf(scene: Scene, spec: JsonObject): Promise<string | undefined> {
  const path = objectPath(scene);
  const body = { ...(await scene.admin.get<JsonObject>(path)), spec: placed(spec, scene) };
  const query = { fieldValidation: "Strict" };
  try {
    await scene.admin.api.json({ what: `replace ${path}`, method: "PUT", path, query, body });
    return undefined;
  } catch (error) {
    if (error instanceof TerminalError) return error.message;
    throw error;
  }
}

/** A level that the operator did not create, and a role that it may bind. */
export async function furnishCluster(admin: Admin, level: string): Promise<void> {
  const limitResponse = { type: "Queue", queuing: { queues: 16, handSize: 4, queueLengthLimit: 50 } };
  await admin.create("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", {
    metadata: { name: level },
    spec: { type: "Limited", limited: { nominalConcurrencyShares: 5, limitResponse } },
  });
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  await admin.create(`${RBAC}/clusterroles`, { metadata: { name: ROLE }, rules });
}

function placed(spec: JsonObject, { namespace }: Scene): JsonObject {
  const soon = new Date(Date.now() + THREE_DAYS_MS).toISOString();
  return JSON.parse(
    JSON.stringify(spec).replaceAll(NAMESPACE, namespace).replaceAll(IN_THREE_DAYS, soon),
  ) as JsonObject;
}

/** Only the Deployment has a pod. The two containers of the DaemonSet get their tokens in the two possible ways. */
function workloads(): [plural: string, body: object][] {
  const main = { name: "main", image: "none" };
  const tolerations = [{ operator: "Exists" }];
  const token = { serviceAccountToken: { path: "token", expirationSeconds: 7_200 } };
  const agent = {
    nodeSelector: { "chaos.test/none": "true" },
    containers: [main, { ...main, name: "own", volumeMounts: [{ name: "own", mountPath: "/own" }] }],
    volumes: [{ name: "own", projected: { sources: [token] } }],
  };
  const web = { replicas: 1, template: { containers: [main], tolerations } };
  const store = { replicas: 0, serviceName: "store", template: { containers: [main] } };
  return [
    ["deployments", workload(WORKLOADS.Deployment, web)],
    ["statefulsets", workload(WORKLOADS.StatefulSet, store)],
    ["daemonsets", workload(WORKLOADS.DaemonSet, { template: agent })],
  ];
}

function workload(
  name: string,
  { template, ...spec }: { readonly template: object; readonly [field: string]: unknown },
) {
  const labels = { [LABEL.key]: LABEL.value, app: name };
  const podTemplate = { metadata: { labels }, spec: { serviceAccountName: name, ...template } };
  return {
    metadata: { name, labels },
    spec: { ...spec, selector: { matchLabels: { app: name } }, template: podTemplate },
  };
}

function bindings(namespace: string): [path: string, body: object][] {
  const role = { kind: "ClusterRole", name: ROLE } as const;
  const serviceAccount = { namespace, name: WORKLOADS.Deployment };
  const expiring = (hours: number) => ({
    [EXPIRY.ownExpiresAt]: new Date(Date.now() + hours * HOUR_MS).toISOString().replace(/\.\d+/, ""),
  });
  const common = { role, serviceAccount };
  return [
    ...Object.entries(BINDINGS).map(([name, hours]): [string, object] => [
      `${RBAC}/namespaces/${namespace}/rolebindings`,
      binding({ ...common, name, namespace, annotations: expiring(hours) }),
    ]),
    [`${RBAC}/clusterrolebindings`, binding({ ...common, name: namespace, annotations: expiring(BINDINGS.late) })],
  ];
}
