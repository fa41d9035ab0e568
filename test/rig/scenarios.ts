import { setTimeout as sleep } from "node:timers/promises";
import { LIFE_ANNOTATION } from "../../src/api/names";
import { GoneError } from "../../src/core/errors";
import { microTime } from "../../src/core/time";
import { OPERATOR } from "../cluster/installation";
import { binding } from "../enforcers/bindings";
import { letOperatorBind } from "../enforcers/rights";
import { EXPIRY } from "../enforcers/rules";
import {
  countPods,
  createWorkload,
  describeObject,
  NAME,
  protect,
  says,
  type Scenario,
  type Scene,
  type State,
  until,
} from "./scenario";

// What each remedy does, once.

/** An eviction that was recorded but never sent is settled after 5 minutes (docs/adr/0004). */
const PATIENCE_MS = 480_000;

const isRestarted = (state: State): boolean =>
  ((state["restarts"] ?? []) as string[]).some(text => /Recovered|Ineffective/.test(text));

const describeWithPods = async (scene: Scene): Promise<State> => ({
  ...(await describeObject(scene)),
  pods: await countPods(scene),
});

/** Timestamps of the API have whole seconds, and the pod must be older than its ServiceAccount; in milliseconds. */
const A_SECOND_LATER_MS = 2_000;

/** A new leader restarts nothing for ten seconds, and reports that; in milliseconds. */
const BRAKE_MS = 11_000;

/** Evicts a pod that gets 401s after its ServiceAccount was recreated. */
export const staleToken: Scenario = {
  name: "stale-token",
  patienceMs: PATIENCE_MS,
  // The object is created after all changes: status and Events of the steps in between would differ from run to run.
  async prepare(scene) {
    const { admin, namespace, node } = scene;
    await createWorkload(scene, "Deployment", 1);
    await sleep(A_SECOND_LATER_MS);
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await admin.delete(`${accounts}/${NAME}`);
    await admin.create(accounts, { metadata: { name: NAME } });
    await node.reject(namespace);
    await scene.untilLedFor(BRAKE_MS);
  },
  trigger: scene => protect(scene, "Deployment", { tokenRestart: {} }),
  describe: describeWithPods,
  isOver: isRestarted,
};

/** Long enough for the operator, which reads Leases every ten seconds, to see four renewals; in milliseconds. */
const LEARN_MS = 90_000;
const RENEW_MS = 2_000;

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  }[];
}

/** Evicts a pod that holds a Lease and has stopped renewing it. */
export const stalledLease: Scenario = {
  name: "stalled-lease",
  patienceMs: PATIENCE_MS,
  async prepare(scene) {
    await createWorkload(scene, "Deployment", 1);
    const spec = { leaseDurationSeconds: 15, renewTime: microTime(Date.now()) };
    await scene.admin.create(leases(scene), { metadata: { name: NAME }, spec });
  },
  trigger(scene) {
    void lead(scene);
    const stallDetection = { evidence: ["Lease"], for: "1m", onStall: "Restart" };
    return protect(scene, "Deployment", { stallDetection });
  },
  describe: describeWithPods,
  isOver: isRestarted,
};

/** Renews the Lease as the programs of the pods do, of which the first one hangs after a while. Ends with the Lease. */
async function lead(scene: Scene): Promise<void> {
  const beganMs = performance.now();
  const sinceMs = (): number => performance.now() - beganMs;
  let first: string | undefined;
  while (sinceMs() < PATIENCE_MS) {
    try {
      const pod = await runningPod(scene);
      first ??= pod?.uid;
      const spec = { holderIdentity: pod?.name, renewTime: microTime(Date.now()) };
      if (pod !== undefined && (pod.uid !== first || sinceMs() < LEARN_MS))
        await scene.admin.patch(`${leases(scene)}/${NAME}`, { spec });
    } catch (error) {
      if (error instanceof GoneError) return;
      // The next renewal is near.
    }
    await sleep(RENEW_MS, undefined, { ref: false });
  }
}

async function runningPod({ admin, namespace }: Scene): Promise<Pods["items"][number]["metadata"] | undefined> {
  const { items } = await admin.get<Pods>(`/api/v1/namespaces/${namespace}/pods`);
  return items.map(({ metadata }) => metadata).find(({ deletionTimestamp }) => deletionTimestamp === undefined);
}

const leases = ({ namespace }: Scene): string => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

const RBAC_GROUP = "rbac.authorization.k8s.io";
const HOUR_MS = 3_600_000;

/** Renewals happen at a third of the extension before the expiry, so this binding is due at once, and then not again for 15 hours. */
const [LEFT_MS, EXTEND_BY] = [7 * HOUR_MS, "24h"];

interface Marked {
  readonly metadata: { readonly creationTimestamp: string; readonly annotations: Readonly<Record<string, string>> };
}

/** Renews a RoleBinding that expires soon. */
export const bindingRenewal: Scenario = {
  name: "binding-renewal",
  patienceMs: 120_000,
  async prepare(scene) {
    const { admin, namespace } = scene;
    await createWorkload(scene, "Deployment");
    await letBind(scene);
    await until("the right to bind", () => mayBind(scene));
    const end = new Date(Date.now() + LEFT_MS).toISOString().replace(/\.\d+/, "");
    const role = { kind: "Role", name: NAME } as const;
    const options = { name: NAME, namespace, role, serviceAccount: { namespace, name: NAME } };
    await admin.create(bindingsOf(scene), binding({ ...options, annotations: { [EXPIRY.ownExpiresAt]: end } }));
  },
  trigger: scene =>
    protect(scene, "Deployment", {
      bindingRenewal: { bindings: [{ kind: "RoleBinding", name: NAME }], extendBy: EXTEND_BY },
    }),
  describe: async scene => ({ ...(await describeObject(scene)), ...(await lifeOf(scene)) }),
  isOver: state => says(state, "BindingsCurrent", "Current"),
};

/** Creates a role that the operator may bind. */
export async function letBind({ admin, client, namespace }: Scene): Promise<void> {
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  await admin.create(`/apis/${RBAC_GROUP}/v1/namespaces/${namespace}/roles`, { metadata: { name: NAME }, rules });
  await letOperatorBind(client, { kind: "Role", name: NAME, namespace });
}

/** The current life of the binding; and its first life, on which the next renewal depends, once it is renewed. */
async function lifeOf(scene: Scene): Promise<{ hours: number; firstLife?: number }> {
  const { metadata } = await scene.admin.get<Marked>(`${bindingsOf(scene)}/${NAME}`);
  const endMs = Date.parse(metadata.annotations[EXPIRY.ownExpiresAt] ?? "");
  const hours = Math.round((endMs - Date.parse(metadata.creationTimestamp)) / HOUR_MS);
  const seconds = metadata.annotations[LIFE_ANNOTATION];
  return { hours, ...(seconds === undefined ? {} : { firstLife: Math.round(Number(seconds) / 3_600) }) };
}

/** Path of the scene's RoleBindings. */
export function bindingsOf({ namespace }: Scene): string {
  return `/apis/${RBAC_GROUP}/v1/namespaces/${namespace}/rolebindings`;
}

/** API servers apply a new right after a short delay. */
async function mayBind({ admin, namespace }: Scene): Promise<boolean> {
  const user = `system:serviceaccount:${OPERATOR.namespace}:${OPERATOR.serviceAccount}`;
  const resourceAttributes = { namespace, verb: "bind", group: RBAC_GROUP, resource: "roles", name: NAME };
  const { status } = await admin.create<{ status: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    { spec: { user, resourceAttributes } },
  );
  return status.allowed;
}

/** Gives a controller its own flows, on the shared level. */
export const flowIsolation: Scenario = {
  name: "flow-isolation",
  patienceMs: 180_000,
  prepare: scene => createWorkload(scene, "Deployment"),
  trigger: scene => protect(scene, "Deployment", { flowIsolation: {} }),
  describe: async scene => ({ ...(await describeObject(scene)), made: await made(scene) }),
  isOver: state => says(state, "FlowsIsolated", "Isolated"),
};

interface Named {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** Without the FlowSchemas of the operator's own requests, which its installer created. */
async function made({ admin, namespace }: Scene): Promise<string[]> {
  const kinds = ["flowschemas", "prioritylevelconfigurations"];
  const lists = await Promise.all(kinds.map(kind => admin.get<Named>(`/apis/flowcontrol.apiserver.k8s.io/v1/${kind}`)));
  const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  const own = names.filter(name => /^controller-resilience-(shared$|tar-pit$|.*-web-)/.test(name));
  return own.map(name => name.replace(namespace, "NAMESPACE").replace(/-[0-9a-f]+$/, "-HASH")).toSorted();
}

/** Begins the trial of a shorter token: changes the template of a DaemonSet, and evicts its pod. The trial lasts as long as the token. */
export const tokenTrial: Scenario = {
  name: "token-trial",
  patienceMs: PATIENCE_MS,
  prepare: scene => createWorkload(scene, "DaemonSet", 1),
  trigger: scene => protect(scene, "DaemonSet", { tokenLifetime: {} }),
  async describe(scene) {
    const path = `/apis/apps/v1/namespaces/${scene.namespace}/daemonsets/${NAME}`;
    const { generation } = (await scene.admin.get<{ metadata: { generation: number } }>(path)).metadata;
    return { ...(await describeWithPods(scene)), generation };
  },
  isOver(state) {
    const restarts = (state["restarts"] ?? []) as string[];
    return says(state, "TokenLifetimeBounded", "Rolling") && restarts.some(text => text.endsWith("Recovered"));
  },
};
