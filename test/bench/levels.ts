// Levels and schemas of the benchmarks, created by plain applies: those of the remedy flowIsolation, and others for comparison.
import { SHARED_SETTINGS, QUARANTINE_SETTINGS, type LevelSettings } from "../../src/remedies/flow-isolation/levels";

const API_VERSION = "flowcontrol.apiserver.k8s.io/v1";

/** Spec of a PriorityLevelConfiguration of the type Limited; without queues, requests without a seat are rejected. */
export interface Level {
  readonly shares: number;
  readonly lendablePercent: number;
  readonly borrowingLimitPercent: number;
  readonly queuing?: { readonly queues: number; readonly handSize: number; readonly queueLengthLimit: number };
}

/** The level of isolated custom controllers. */
export const SHARED = levelOf(SHARED_SETTINGS);

/** The level of throttled runaways. */
export const QUARANTINE = levelOf(QUARANTINE_SETTINGS);

function levelOf({
  nominalConcurrencyShares,
  lendablePercent,
  borrowingLimitPercent,
  ...queuing
}: LevelSettings): Level {
  return { shares: nominalConcurrencyShares, lendablePercent, borrowingLimitPercent, queuing };
}

/** A level with this name. */
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

/** Assigns all requests of a ServiceAccount to a level. The schema has the account's name. */
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
