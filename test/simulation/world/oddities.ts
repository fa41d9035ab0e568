import { attempt } from "../server/objects";
import { type JsonObject, objectOf } from "../../../src/core/json";
import { microTime, parseDuration } from "../../../src/core/time";
import type { Cluster } from "../cluster/cluster";
import { tell } from "../cluster/events";
import { nowMs } from "../cluster/ground";
import { grant } from "../cluster/install";
import type { Seen } from "../server/api-servers";
import { isWrite } from "../server/journal";
import { customSchema } from "../server/schema";
import { customFaults } from "../server/validation";
import { drawField } from "./fields";
import type { Given, Kinds } from "./kind";
import { breakRollout, edit, editTemplate, find, remove, setSpec } from "./people";
import { habit } from "./tools";
import type { World } from "./world";

// What is rare: edits of any field, tenants who forge, webhooks that refuse what the operator writes, workloads with two ServiceAccounts.

type Ask = Seen["ask"];

const DEFINITION = { resource: "customresourcedefinitions", name: "controllerresiliences.controller-resilience.io" };

const TEMPORARY = { resource: "clusterroles", name: "temporary-access" };

/** A right that no renewer of bindings may pass on. */
const POWER = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"], verbs: ["bind"] };

/** Edits one field, such as `tokenRestart.cooldown="1h"`, if the API server allows that, and no other edit of its block lasts: that would stay. */
function editField({ cluster, edits }: World, { on, ref, text }: Given): unknown {
  const at = text.indexOf("=");
  const [block = "", ...fields] = text.slice(0, at).split(".");
  const object = find(cluster, ref);
  if (object === undefined) return undefined;
  const next = withField(object.spec?.[block], fields, JSON.parse(text.slice(at + 1)));
  const key = `${on} ${block}`;
  if (edits.has(key) || !isAllowed(cluster, block, next)) return undefined;
  const setBack = setSpec(cluster, ref, block, next);
  edits.add(key);
  return () => {
    edits.delete(key);
    setBack();
  };
}

/** A block with another value of one of its fields, and with what is above that. */
function withField(block: unknown, [field = "", ...rest]: readonly string[], value: unknown): JsonObject {
  const before = objectOf(block);
  return { ...before, [field]: rest.length === 0 ? value : withField(before[field], rest, value) };
}

function isAllowed(cluster: Cluster, block: string, value: JsonObject): boolean {
  const definition = find(cluster, DEFINITION);
  const schema = definition && customSchema(definition).fields?.get("spec")?.fields?.get(block);
  return schema?.rules !== undefined && customFaults(value, schema.rules).length === 0 && !isBackward(value);
}

/** A rule of the definition over two fields of bindingRenewal. */
function isBackward({ renewBefore = "24h", warnBefore = "168h" }: JsonObject): boolean {
  return parseDuration(renewBefore as string) > parseDuration(warnBefore as string);
}

/** A just-in-time access operator keeps a binding, and its expiry, in an object of its own. */
function ownBinding({ cluster }: World, { ref }: Given): unknown {
  const owner = { apiVersion: "access.example/v1", kind: "AccessRequest", name: ref.name, uid: `request-${ref.name}` };
  edit(cluster, ref, ({ metadata }) => void (metadata.ownerReferences = [owner]));
  return () => edit(cluster, ref, ({ metadata }) => void Reflect.deleteProperty(metadata, "ownerReferences"));
}

/** What Multus says of a credential that the API server refuses. */
const SANDBOX =
  'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5d0c6ad4": plugin type="multus" name="multus-cni-network" failed (add): Multus: [forged]: error getting pod: Unauthorized';

/** A tenant writes Events about pods of its namespace as the kubelets of all nodes. */
function forgeEvents({ cluster, store }: World, { on, dice }: Given): unknown {
  return habit(cluster, { everyMs: 15_000, dice }, () => {
    const [pod] = store.list("pods", on);
    if (pod === undefined) return;
    for (const { metadata } of store.list("nodes"))
      tell(cluster.ground, {
        object: { ...pod, metadata: { ...pod.metadata, uid: `${metadata.name}-${pod.metadata.uid}` } },
        ...{ reason: "FailedCreatePodSandBox", message: SANDBOX, component: "kubelet", host: metadata.name },
      });
  });
}

/** A tenant says that a pod of another namespace holds its Lease, renews that for a minute, and stops. */
function forgeLease(world: World, { on, dice }: Given): unknown {
  const [pod] = world.podsOf(on);
  if (pod === undefined) return undefined;
  const { cluster, store, plan, clock } = world;
  const { name, uid } = pod.metadata;
  const namespace = plan.workloads.find(one => one.namespace !== pod.metadata.namespace)?.namespace ?? "default";
  const ref = { resource: "leases", namespace, name: `forged-${name}` };
  const spec = {
    holderIdentity: `${name}_${uid}`,
    leaseDurationSeconds: 15,
    renewTime: microTime(nowMs(cluster.ground)),
  };
  attempt(() => store.create("leases", { metadata: { namespace, name: ref.name }, spec }));
  clock.after(
    60_000,
    habit(cluster, { everyMs: 8_000, dice }, () =>
      setSpec(cluster, ref, "renewTime", microTime(nowMs(cluster.ground))),
    ),
  );
  return () => remove(cluster, ref);
}

/** What looks like an own 401 of client-go, with a token in it. */
const FORGED =
  'E0105 09:00:00.000000       1 reflector.go:158] "Unhandled Error" err="failed to list *v1.Pod: Unauthorized" token="eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl"';

/** Someone writes lines into the logs of the pods of a workload, as with `kubectl exec` and /proc/1/fd/1. */
function forgeLog(world: World, { on, dice }: Given): unknown {
  return habit(world.cluster, { everyMs: 15_000, dice }, () => {
    for (const pod of world.podsOf(on)) world.cluster.forgeLog(pod, "main", FORGED);
  });
}

/** Its pods of the next revision run as another ServiceAccount; with an amount of 1 that revision has an image that does not exist. */
function changeAccount({ cluster, plan }: World, { on, ref, amount }: Given): unknown {
  const workload = plan.workloads.find(({ namespace, name }) => `${namespace}/${name}` === on);
  if (workload === undefined || find(cluster, ref) === undefined) return undefined;
  const set = (name: string): void =>
    editTemplate(cluster, ref, ({ spec }) => void Object.assign(spec, { serviceAccountName: name }));
  grant(cluster, { ...workload, serviceAccount: `${workload.name}-next` });
  set(`${workload.name}-next`);
  const repair = amount === 1 ? breakRollout(cluster, ref) : undefined;
  return () => {
    repair?.();
    set(workload.serviceAccount ?? workload.name);
  };
}

const refusing = (amount: number): string => (amount === 403 ? "refuses" : "is down, which prevents");

/** All of them. */
export const ODDITIES: Kinds = {
  "field-edited": {
    ...{ on: "object", weight: 6, lasts: [5, 60], text: drawField },
    says: (_, text) => `Someone sets ${text} in %.`,
    begin: editField,
  },
  "binding-owned": {
    ...{ on: "binding", lasts: [10, 60] },
    says: "A just-in-time access operator becomes the owner of %.",
    begin: ownBinding,
  },
  "role-widened": {
    lasts: [10, 60],
    says: "Someone lets the role of all expiring bindings bind roles.",
    begin: ({ cluster }) => {
      const rules = (find(cluster, TEMPORARY)?.["rules"] ?? []) as object[];
      const set = (next: object[]): void => edit(cluster, TEMPORARY, draft => void (draft["rules"] = next));
      set([...rules, POWER]);
      return () => set(rules);
    },
  },
  "bindings-refused": {
    ...{ lasts: [10, 60], amount: dice => dice.pick([403, 500]) },
    says: amount => `A webhook ${refusing(amount)} every change of a RoleBinding.`,
    begin: ({ faults }, { amount }) =>
      faults.refuse("binding change", ({ resource, verb }) => resource === "rolebindings" && verb === "patch", amount),
  },
  "objects-refused": {
    ...{ on: "namespace", lasts: [5, 40], amount: dice => dice.pick([403, 500]) },
    says: amount => `A webhook ${refusing(amount)} every change of a ControllerResilience in %.`,
    begin: ({ faults }, { on, amount }) => {
      const isOne = ({ resource, subresource, namespace, verb }: Ask): boolean =>
        resource === "controllerresiliences" && subresource === undefined && namespace === on && verb !== "get";
      return faults.refuse("object change", ask => isOne(ask) && isWrite(ask), amount);
    },
  },
  "strangers-flood": {
    ...{ lasts: [5, 30], amount: dice => Math.round(dice.between(20, 1_000)) },
    says: "A stranger sends # requests a second with a token that is none.",
    begin: ({ cluster, servers, plan }, { amount, dice }) => {
      const asked = { verb: "list", group: "", resource: "pods" };
      const stranger = { namespace: "", serviceAccount: "" };
      return habit(cluster, { everyMs: 5_000, dice }, () => {
        servers.request(stranger, asked, { server: dice.int(plan.servers), code: 401, count: 5 * Math.round(amount) });
      });
    },
  },
  "events-forged": {
    ...{ on: "namespace", lasts: [5, 40] },
    says: "A tenant of % writes Events as if it were the kubelets.",
    begin: forgeEvents,
  },
  "lease-forged": {
    ...{ on: "workload", lasts: [20, 60] },
    says: "A tenant of another namespace says that a pod of % holds its Lease.",
    begin: forgeLease,
  },
  "log-forged": {
    ...{ on: "workload", lasts: [5, 40] },
    says: "Someone writes 401s with a token into the logs of %.",
    begin: forgeLog,
  },
  "account-changed": {
    ...{ on: "workload", weight: 3, lasts: [10, 50], amount: dice => dice.int(2) },
    says: amount =>
      `Someone gives % another ServiceAccount${amount === 1 ? ", and an image that does not exist" : ""}.`,
    begin: changeAccount,
  },
};
