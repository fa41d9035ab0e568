// Levels and schemas as this benchmark makes them by plain applies: what the remedy flowIsolation does on a cluster.

const API_VERSION = "flowcontrol.apiserver.k8s.io/v1";

/** Of a PriorityLevelConfiguration of the type Limited; without queues, what has no seat is rejected. */
export interface Level {
  readonly shares: number;
  readonly lendablePercent: number;
  readonly borrowingLimitPercent: number;
  readonly queuing?: { readonly queues: number; readonly handSize: number; readonly queueLengthLimit: number };
}

/** Where custom controllers are isolated (docs/adr/0015-levels-for-custom-controllers.md). */
export const SHARED: Level = {
  shares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queuing: { queues: 128, handSize: 2, queueLengthLimit: 250 },
};

/** Where a runaway is held still: nothing is ever dispatched, and a request waits for its place to be refused. */
export const TAR_PIT: Level = {
  shares: 0,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queuing: { queues: 1, handSize: 1, queueLengthLimit: 2000 },
};

/** A level of that name. */
export function priorityLevel(name: string, level: Level): object {
  const { shares: nominalConcurrencyShares, lendablePercent, borrowingLimitPercent, queuing } = level;
  const limitResponse = queuing === undefined ? { type: "Reject" } : { type: "Queue", queuing };
  const limited = { nominalConcurrencyShares, lendablePercent, borrowingLimitPercent, limitResponse };
  return {
    apiVersion: API_VERSION,
    kind: "PriorityLevelConfiguration",
    metadata: { name },
    spec: { type: "Limited", limited },
  };
}

/** Sends all that a ServiceAccount asks for to a level. The schema has the account's name. */
export function flowSchema(namespace: string, name: string, level: string): object {
  const any = { verbs: ["*"] };
  const rule = {
    subjects: [{ kind: "ServiceAccount", serviceAccount: { namespace, name } }],
    resourceRules: [{ ...any, apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
    nonResourceRules: [{ ...any, nonResourceURLs: ["*"] }],
  };
  const spec = {
    matchingPrecedence: 1000,
    priorityLevelConfiguration: { name: level },
    distinguisherMethod: { type: "ByUser" },
    rules: [rule],
  };
  return { apiVersion: API_VERSION, kind: "FlowSchema", metadata: { name }, spec };
}
