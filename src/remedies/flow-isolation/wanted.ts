import { LEVELS_ANNOTATION, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import { SYSTEM_NAMESPACE } from "../../core/components";
import { compareDesired, covers, type DesiredObject, type DesiredState } from "../../core/desired";
import { flowSchemaName } from "../../core/flow-schema-names";
import { ownerAnnotations, ownerLabels } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import { type FlowIsolationFacts, type Owner, type Spec, throttles } from "./facts";
import {
  LEASE_LEVEL,
  LEASE_SETTINGS,
  levelSpec,
  SHARED_LEVEL,
  SHARED_SETTINGS,
  QUARANTINE_LEVEL,
  QUARANTINE_SETTINGS,
  type LevelSettings,
  usualLevel,
} from "./levels";

/** API group and version of both kinds. */
export const FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1";

/** An object of flow control as the operator wants it. */
export interface Wanted extends DesiredObject {
  readonly kind: "FlowSchema" | "PriorityLevelConfiguration";
}

/** A wanted object, compared with the cluster. */
export interface Piece {
  readonly wanted: Wanted;
  readonly state: DesiredState;
}

/** Compares a wanted object with all objects of its kind. The API server defaults further fields. */
export function pieceOf(wanted: Wanted, views: readonly ClusterObjectView[] | null): Piece {
  return { wanted, state: compareDesired(wanted, views ?? [], covers) };
}

const PRECEDENCE = 1_000;

/** Before kube-system-service-accounts (900), a built-in FlowSchema that matches the ServiceAccounts of that namespace. */
const SYSTEM_PRECEDENCE = 890;

/** The levels that the operator creates for this object: not one that the spec names. */
export function wantedLevels(facts: FlowIsolationFacts, spec: Spec): Wanted[] {
  if (facts.accounts.length === 0) return [];
  const shared = usualLevel(facts, spec) === SHARED_LEVEL ? [sharedLevel(SHARED_LEVEL, SHARED_SETTINGS)] : [];
  // The quarantine level exists before it is needed: in a crisis one patch must suffice.
  const quarantine = throttles(spec) ? [sharedLevel(QUARANTINE_LEVEL, QUARANTINE_SETTINGS)] : [];
  return [...shared, sharedLevel(LEASE_LEVEL, LEASE_SETTINGS), ...quarantine];
}

/** A level shared by all objects. */
function sharedLevel(name: string, settings: LevelSettings): Wanted {
  return {
    kind: "PriorityLevelConfiguration",
    name,
    labels: { [MANAGED_BY_LABEL]: MANAGER },
    annotations: {},
    spec: levelSpec(settings),
  };
}

/** The FlowSchema that assigns all requests of a ServiceAccount to that level. */
export function wantedFlow(
  facts: Pick<FlowIsolationFacts, "owner" | "levels">,
  account: string,
  spec: Spec,
  level: string,
): Wanted {
  const { owner } = facts;
  const levels = [usualLevel(facts, spec), ...(throttles(spec) ? [QUARANTINE_LEVEL] : [])];
  return {
    kind: "FlowSchema",
    name: flowSchemaName(owner, account),
    labels: ownerLabels(owner),
    annotations: { ...ownerAnnotations(owner), [LEVELS_ANNOTATION]: levels.join(",") },
    spec: flowSpec(owner, account, level, {
      matchingPrecedence: precedence(owner),
      resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    }),
  };
}

/** Which requests of its ServiceAccount a FlowSchema matches, and its precedence. */
export interface Matching {
  readonly matchingPrecedence: number;
  readonly resourceRules: readonly object[];
  readonly nonResourceRules?: readonly object[];
}

/** The spec of a FlowSchema of a ServiceAccount. */
export function flowSpec(
  owner: Owner,
  account: string,
  level: string,
  { matchingPrecedence, ...rules }: Matching,
): object {
  const serviceAccount = { namespace: owner.metadata.namespace, name: account };
  return {
    distinguisherMethod: { type: "ByUser" },
    matchingPrecedence,
    priorityLevelConfiguration: { name: level },
    rules: [{ subjects: [{ kind: "ServiceAccount", serviceAccount }], ...rules }],
  };
}

/** Precedence of its FlowSchema; that of its leases is one less. */
export function precedence({ metadata }: Owner): number {
  return metadata.namespace === SYSTEM_NAMESPACE ? SYSTEM_PRECEDENCE : PRECEDENCE;
}
