// Levels and schemas as this benchmark makes them by plain applies: those of the remedy flowIsolation, and others to compare them with.
import { SHARED_SETTINGS, QUARANTINE_SETTINGS, type LevelSettings } from "../../src/remedies/flow-isolation/levels";

const API_VERSION = "flowcontrol.apiserver.k8s.io/v1";

/** Of a PriorityLevelConfiguration of the type Limited; without queues, what has no seat is rejected. */
export interface Level {
  readonly shares: number;
  readonly lendablePercent: number;
  readonly borrowingLimitPercent: number;
  readonly queuing?: { readonly queues: number; readonly handSize: number; readonly queueLengthLimit: number };
}

/** Where custom controllers are isolated. */
export const SHARED = levelOf(SHARED_SETTINGS);

/** Where a runaway is throttled. */
export const TAR_PIT = levelOf(QUARANTINE_SETTINGS);

function levelOf({
  nominalConcurrencyShares,
  lendablePercent,
  borrowingLimitPercent,
  ...queuing
}: LevelSettings): Level {
  return { shares: nominalConcurrencyShares, lendablePercent, borrowingLimitPercent, queuing };
}

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
