import { OPERATOR_NAMESPACE } from "../operator";
import { isWrite } from "../server/journal";
import { attempt, clone } from "../server/objects";
import type { Kind, Kinds } from "./kind";
import { edit, find, limitPods, mark, type Ref, refusePods, remove, setSpec } from "./people";
import { habit } from "./tools";
import type { World } from "./world";

// The machinery fails: network, API servers, nodes, etcd, and the operator itself.

const LEASE: Ref = { resource: "leases", namespace: OPERATOR_NAMESPACE, name: "controller-resilience" };
const DEFINITION: Ref = {
  resource: "customresourcedefinitions",
  name: "controllerresiliences.controller-resilience.io",
};

/** Takes a backup, and returns what restores it; the API servers restart then. */
function backup({ store, cluster, faults }: World, bump: number): () => void {
  const snapshot = store.snapshot();
  return () => {
    store.restore(snapshot, { bump });
    faults.breakWatches();
    cluster.catchUp();
  };
}

interface Definition {
  readonly versions: {
    schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, unknown> } } } };
  }[];
}

/** Another version of the chart has other fields; returns what installs the current one again. Nothing if there is no definition. */
function editDefinition({ cluster }: World, change: (fields: Record<string, unknown>) => void): unknown {
  const before = find(cluster, DEFINITION)?.spec;
  if (before === undefined) return undefined;
  edit(cluster, DEFINITION, draft =>
    change((draft.spec as unknown as Definition).versions[0]!.schema.openAPIV3Schema.properties.spec.properties),
  );
  return () => edit(cluster, DEFINITION, draft => void (draft.spec = clone(before)));
}

const NETWORK: Kinds = {
  "request-errors": {
    ...{ weight: 3, lasts: [1, 25], amount: dice => dice.between(0.02, 0.5) },
    says: "A share of the operator's requests fails, each in its own way: #.",
    begin: ({ faults }, { amount }) => faults.errors(amount),
  },
  "refusing-server": {
    ...{ lasts: [30, 120], amount: () => 0.1 },
    says: "The API servers are busy and refuse a share of all requests: #.",
    begin: ({ faults }, { amount }) => faults.errors(amount, ["429", "429 until a date", "500", "503"]),
  },
  "answers-lost": {
    ...{ weight: 0, lasts: [1, 10], amount: () => 0.5 },
    says: "A share of the operator's changes is made, and the answers are lost: #.",
    begin: ({ faults }, { amount }) =>
      faults.errors(amount, ["reset, served"], ({ ask }) => isWrite(ask) && ask.resource !== "leases"),
  },
  "statuses-fail": {
    ...{ weight: 0, lasts: [5, 40], amount: () => 0.3 },
    says: "A share of the operator's writes of status fails: #.",
    begin: ({ faults }, { amount }) => faults.errors(amount, ["500"], ({ ask }) => ask.subresource === "status"),
  },
  silence: {
    ...{ lasts: [0.2, 3] },
    says: "No request of the operator is answered any more.",
    begin: ({ faults }) => faults.errors(1, ["no answer, not served"]),
  },
  "slow-answers": {
    ...{ lasts: [1, 10], amount: dice => dice.between(500, 20_000) },
    says: "Answers come late and out of order, by up to # ms.",
    begin: ({ faults }, { amount }) => faults.slow(amount),
  },
  "server-down": {
    ...{ on: "server", lasts: [0.5, 10] },
    says: "API server % stops.",
    begin: ({ faults }, { on }) => faults.down(Number(on)),
  },
  "server-lags": {
    ...{ on: "server", lasts: [1, 10], amount: dice => dice.between(1_000, 60_000) },
    says: "API server % lags: its lists and watches are # ms old.",
    begin: ({ faults }, { on, amount }) => faults.lag(Number(on), amount || 20_000),
  },
  "server-clock": {
    ...{ on: "server", lasts: [1, 30], amount: dice => dice.between(-200_000, 200_000) },
    says: "The clock of API server % is off by # ms, as its answers say.",
    begin: ({ servers }, { on, amount }) => {
      servers.setClock(Number(on), amount);
      return () => servers.setClock(Number(on), 0);
    },
  },
  "watches-break": {
    says: "All watches end at once.",
    begin: ({ faults }) => faults.breakWatches(),
  },
  "watches-silent": {
    ...{ lasts: [1, 10] },
    says: "New watches fall silent after a while.",
    begin: ({ faults }) => faults.silentWatches(),
  },
  "events-lost": {
    ...{ lasts: [1, 10], amount: dice => dice.between(0.02, 0.5) },
    says: "Watches lose a share of their events: #.",
    begin: ({ faults }, { amount }) => faults.events("drop", amount),
  },
  "events-repeated": {
    ...{ lasts: [1, 10], amount: dice => dice.between(0.1, 1) },
    says: "Watches repeat a share of their events: #.",
    begin: ({ faults }, { amount }) => faults.events("repeat", amount),
  },
  "history-compacted": {
    says: "etcd forgets its history, and all watches end: they must list again.",
    begin: ({ store, faults }) => {
      store.compact();
      faults.breakWatches();
    },
  },
};

const OPERATOR: Kinds = {
  "operator-killed": {
    ...{ on: "operator", weight: 2 },
    says: "controller-resilience-% is killed.",
    begin: ({ operators }, { on }) => operators[Number(on)]?.kill(),
  },
  "operator-ended": {
    on: "operator",
    says: "controller-resilience-% gets SIGTERM, as for an update.",
    begin: ({ operators }, { on }) => operators[Number(on)]?.process?.terminate(),
  },
  "operator-killed-in-write": {
    ...{ on: "operator", weight: 2, lasts: [1, 30] },
    says: "controller-resilience-% will be killed between its next write and the answer.",
    begin: ({ operators, faults, clock }, { on }) => {
      const pod = operators[Number(on)];
      return pod && faults.atNextWrite(pod.name, () => clock.after(20, () => pod.kill()));
    },
  },
  "operator-frozen": {
    ...{ on: "operator", lasts: [0.2, 5] },
    says: "The process of controller-resilience-% stands still.",
    begin: ({ operators }, { on }) => {
      const process = operators[Number(on)]?.process;
      process?.clock.freeze();
      return () => process?.clock.thaw();
    },
  },
  "machine-frozen": {
    ...{ on: "operator", lasts: [0.5, 10] },
    says: "The machine of controller-resilience-% stands still, as when it is moved.",
    begin: ({ operators }, { on }) => operators[Number(on)]?.pause(),
  },
  "operator-cut-off": {
    ...{ on: "operator", lasts: [0.5, 10] },
    says: "controller-resilience-% has no network.",
    begin: ({ operators, faults }, { on }) => {
      const pod = operators[Number(on)];
      return pod && faults.cutOff(pod.name);
    },
  },
  "lease-unreachable": {
    ...{ on: "operator", weight: 0, lasts: [1, 5] },
    says: "controller-resilience-% gets no answers about its Lease, and all others.",
    begin: ({ operators, faults }, { on }) => {
      const pod = operators[Number(on)];
      return pod && faults.cutOff(pod.name, "leases");
    },
  },
  "clock-jumps": {
    ...{ on: "operator", lasts: [1, 30], amount: dice => dice.between(-200_000, 200_000) * dice.pick([1, 1, 30]) },
    says: "The clock of controller-resilience-% jumps by # ms, and back later.",
    begin: ({ operators }, { on, amount }) => {
      operators[Number(on)]?.jumpClock(amount);
      return () => operators[Number(on)]?.jumpClock(-amount);
    },
  },
  "clock-drifts": {
    ...{ on: "operator", lasts: [5, 60], amount: dice => dice.between(-3_000, 3_000) },
    says: "The clock of controller-resilience-% drifts by # ms in a minute.",
    begin: ({ operators, cluster }, { on, amount, dice }) =>
      habit(cluster, { everyMs: 10_000, dice }, () => operators[Number(on)]?.jumpClock(amount / 6)),
  },
  "lease-deleted": {
    says: "Someone deletes the operator's Lease.",
    begin: ({ cluster }) => void remove(cluster, LEASE),
  },
  "lease-wiped": {
    says: "Someone empties the operator's Lease.",
    begin: ({ cluster }) => edit(cluster, LEASE, draft => void Object.assign(draft, { spec: {} })),
  },
  "lease-labelled": {
    says: "Someone edits a label of the operator's Lease.",
    begin: ({ cluster, clock }) =>
      mark(cluster, LEASE, { map: "labels", key: "team", value: `t${clock.monotonicMs() % 1_000}` }),
  },
  "breaker-reset": {
    says: "Someone resets the operator's breaker.",
    begin: ({ cluster }) => mark(cluster, LEASE, { key: "controller-resilience.io/breaker", value: undefined }),
  },
  "operator-account-recreated": {
    says: "The operator's own ServiceAccount is deleted and created again.",
    begin: ({ cluster }) => remove(cluster, { ...LEASE, resource: "serviceaccounts" })(),
  },
  "operator-rights-gone": {
    ...{ lasts: [1, 15] },
    says: "The operator's ClusterRoleBinding is deleted: every request is forbidden.",
    begin: ({ cluster }) => remove(cluster, { resource: "clusterrolebindings", name: LEASE.name }),
  },
};

const restored = (bump: number): Pick<Kind, "lasts" | "begin"> => ({
  lasts: [1, 30],
  begin: world => backup(world, bump),
});

const CLUSTER: Kinds = {
  "node-away": {
    ...{ lasts: [1, 15] },
    says: "A node does not answer any more.",
    begin: world => {
      const { cluster } = world;
      const node = world.someNode();
      if (node === undefined) return undefined;
      cluster.loseNode(node);
      return () => cluster.regainNode(node);
    },
  },
  "node-joins": {
    says: "A node joins.",
    begin: ({ cluster, clock }) => cluster.addNode(`late-${Math.round(clock.monotonicMs())}`),
  },
  "node-leaves": {
    says: "A node is switched off for ever, and another one joins.",
    begin: world => {
      const { cluster, clock } = world;
      const node = world.someNode();
      if (node !== undefined) cluster.removeNode(node);
      cluster.addNode(`new-${Math.round(clock.monotonicMs())}`);
    },
  },
  "node-clock": {
    ...{ lasts: [5, 60], amount: dice => dice.between(-120_000, 120_000) },
    says: "The clock of a node is off by # ms.",
    begin: (world, { amount }) => {
      const { cluster } = world;
      const node = world.someNode() ?? "";
      cluster.setNodeClock(node, amount);
      return () => cluster.setNodeClock(node, 0);
    },
  },
  "evictions-refused": {
    ...{ on: "namespace", lasts: [5, 30] },
    says: "A webhook refuses every eviction in %.",
    begin: ({ faults }, { on }) =>
      faults.refuse("eviction", ({ subresource, namespace }) => subresource === "eviction" && namespace === on),
  },
  "pods-refused": {
    ...{ lasts: [2, 20] },
    says: "A webhook refuses every new pod: evicted ones have no successor.",
    begin: ({ cluster }) => refusePods(cluster),
  },
  "pods-refused-in": {
    ...{ on: "namespace", lasts: [5, 40] },
    says: "A webhook refuses new pods in %.",
    begin: ({ cluster }, { on }) => refusePods(cluster, on),
  },
  quota: {
    ...{ on: "namespace", lasts: [5, 40], amount: dice => dice.int(3) },
    says: "A quota allows as many pods in % as there are, less #.",
    begin: ({ cluster, store }, { on, amount }) =>
      limitPods(cluster, on, Math.max(0, store.list("pods", on).length - amount)),
  },
  "namespace-deleted": {
    ...{ on: "tenant", lasts: [1, 20] },
    says: "Namespace % is deleted, with everything in it.",
    begin: (world, { on }) => {
      attempt(() => void world.store.delete("namespaces", undefined, on));
      return () => world.reinstall(on);
    },
  },
  "flow-shadowed": {
    ...{ on: "namespace", lasts: [5, 40] },
    says: "Someone creates a FlowSchema that takes all requests of ServiceAccounts in %.",
    begin: ({ cluster, store }, { on }) => {
      const subjects = [{ kind: "ServiceAccount", serviceAccount: { namespace: on, name: "*" } }];
      const all = { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] };
      const name = `people-${on}`;
      const spec = {
        ...{ matchingPrecedence: 2, priorityLevelConfiguration: { name: "global-default" } },
        rules: [{ subjects, resourceRules: [all] }],
      };
      attempt(() => void store.create("flowschemas", { metadata: { name }, spec }));
      return () => void remove(cluster, { resource: "flowschemas", name });
    },
  },
  "flows-refused": {
    ...{ weight: 0, lasts: [5, 20] },
    says: "A webhook refuses every change of a FlowSchema.",
    begin: ({ faults }) =>
      faults.refuse("flow change", ({ resource, verb }) => resource === "flowschemas" && verb === "patch"),
  },
  "flows-edited": {
    lasts: [5, 40],
    says: "From now on a tool edits the operator's FlowSchemas once a minute.",
    begin: ({ cluster, store }, { dice }) =>
      habit(cluster, { everyMs: 60_000, dice }, () => {
        for (const { metadata } of store.list("flowschemas"))
          if (metadata.labels?.["app.kubernetes.io/managed-by"] === "controller-resilience")
            setSpec(cluster, { resource: "flowschemas", name: metadata.name }, "matchingPrecedence", 9_000);
      }),
  },
  "backup-restored": {
    ...restored(0),
    says: "A backup of etcd is taken.",
    ends: "etcd is restored from the backup: all objects and revisions are those of then.",
  },
  "backup-restored-with-bump": {
    ...restored(1_000_000),
    says: "A backup of etcd is taken.",
    ends: "etcd is restored from the backup, with higher revisions.",
  },
  "definition-deleted": {
    ...{ lasts: [0.2, 15] },
    says: "The definition of ControllerResiliences is deleted, and with it every object.",
    begin: world => {
      const again = remove(world.cluster, DEFINITION);
      return () => {
        again();
        world.protect();
      };
    },
  },
  "definition-older": {
    ...{ lasts: [1, 30] },
    says: "An older definition is installed: it does not know stallDetection and maxRestarts.",
    begin: world =>
      editDefinition(world, fields => {
        const { tokenRestart } = fields as { tokenRestart?: { properties?: Record<string, unknown> } };
        Reflect.deleteProperty(fields, "stallDetection");
        Reflect.deleteProperty(tokenRestart?.properties ?? {}, "maxRestarts");
      }),
  },
  "definition-newer": {
    ...{ lasts: [1, 30] },
    says: "A newer definition is installed: it has a block that the operator does not know.",
    begin: world =>
      editDefinition(world, fields => {
        fields["futureRemedy"] = {
          ...{ type: "object", default: {} },
          properties: { often: { type: "integer", default: 3 } },
        };
      }),
  },
};

/** All of them. */
export const FAULTS: Kinds = { ...NETWORK, ...OPERATOR, ...CLUSTER };
