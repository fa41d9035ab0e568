import { FLOW_PREFIX, LEVELS_ANNOTATION, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import { ownedName, ownerAnnotations, ownerLabels } from "../../core/owned";
import type { FlowIsolationFacts, Owner, Spec } from "./facts";
import {
  LEASE_LEVEL,
  levelSpec,
  SHARED_LEVEL,
  SHARED_SETTINGS,
  TAR_PIT,
  TAR_PIT_SETTINGS,
  type LevelSettings,
} from "./levels";

/** API group and version of both kinds. */
export const FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1";

/** An object as it is to be. */
export interface Wanted {
  readonly kind: "FlowSchema" | "PriorityLevelConfiguration";
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: object;
}

/** ServiceAccounts of this namespace are matched by a built-in FlowSchema of precedence 900 (kube-system-service-accounts). */
const SYSTEM_NAMESPACE = "kube-system";

/** Before that one. */
const SYSTEM_PRECEDENCE = 890;

/** The level that the targets' ServiceAccounts are on while all is well. */
export function homeLevel(owner: Owner, spec: Spec): string {
  if (spec.priorityLevel !== "") return spec.priorityLevel;
  if (spec.dedicated === undefined) return SHARED_LEVEL;
  const { namespace, name, uid } = owner.metadata;
  return ownedName(FLOW_PREFIX, [namespace, name], [uid]);
}

/** The levels that the operator keeps for this object; an existing one that the spec names is not among them. */
export function wantedLevels({ owner, accounts }: FlowIsolationFacts, spec: Spec): Wanted[] {
  if (accounts.length === 0) return [];
  const home = homeLevel(owner, spec);
  const homes =
    spec.priorityLevel !== ""
      ? []
      : spec.dedicated === undefined
        ? [commonLevel(SHARED_LEVEL, SHARED_SETTINGS)]
        : [{ ...commonLevel(home, spec.dedicated), labels: ownerLabels(owner), annotations: ownerAnnotations(owner) }];
  // The tar pit is there before it is needed: in a crisis one patch must do.
  return needsTarPit(spec) ? [...homes, commonLevel(TAR_PIT, TAR_PIT_SETTINGS)] : homes;
}

/** A level that belongs to no single object. */
function commonLevel(name: string, settings: LevelSettings): Wanted {
  return {
    kind: "PriorityLevelConfiguration",
    name,
    labels: { [MANAGED_BY_LABEL]: MANAGER },
    annotations: {},
    spec: levelSpec(settings),
  };
}

function needsTarPit({ requestRate }: Spec): boolean {
  return requestRate.onRunaway !== "Report";
}

/** Name of the FlowSchema of a ServiceAccount. Each object has its own, so that two never write the same one. */
export function flowSchemaName({ metadata }: Owner, account: string): string {
  return ownedName(FLOW_PREFIX, [metadata.namespace, account], [metadata.uid, account]);
}

/** The FlowSchema that puts all requests of a ServiceAccount on that level. */
export function wantedFlow(owner: Owner, account: string, spec: Spec, level: string): Wanted {
  const levels = [homeLevel(owner, spec), ...(needsTarPit(spec) ? [TAR_PIT] : [])];
  return {
    kind: "FlowSchema",
    name: flowSchemaName(owner, account),
    labels: ownerLabels(owner),
    annotations: { ...ownerAnnotations(owner), [LEVELS_ANNOTATION]: levels.join(",") },
    spec: flowSpec(owner, account, level, {
      matchingPrecedence: precedence(owner, spec),
      resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    }),
  };
}

/** The FlowSchema that keeps its leases where they are, matched before the one above. */
export function wantedLeaseFlow(owner: Owner, account: string, spec: Spec): Wanted {
  const { namespace, uid } = owner.metadata;
  return {
    kind: "FlowSchema",
    name: ownedName(`${FLOW_PREFIX}leases-`, [namespace, account], [uid, account, "leases"]),
    labels: ownerLabels(owner),
    annotations: ownerAnnotations(owner),
    spec: flowSpec(owner, account, LEASE_LEVEL, {
      matchingPrecedence: precedence(owner, spec) - 1,
      resourceRules: [
        {
          verbs: ["get", "create", "update", "patch"],
          apiGroups: ["coordination.k8s.io"],
          resources: ["leases"],
          namespaces: ["*"],
        },
      ],
    }),
  };
}

/** What a FlowSchema matches of its ServiceAccount's requests, and how early it is asked. */
interface Matching {
  readonly matchingPrecedence: number;
  readonly resourceRules: readonly object[];
  readonly nonResourceRules?: readonly object[];
}

function flowSpec(owner: Owner, account: string, level: string, { matchingPrecedence, ...rules }: Matching): object {
  const serviceAccount = { namespace: owner.metadata.namespace, name: account };
  return {
    distinguisherMethod: { type: "ByUser" },
    matchingPrecedence,
    priorityLevelConfiguration: { name: level },
    rules: [{ subjects: [{ kind: "ServiceAccount", serviceAccount }], ...rules }],
  };
}

function precedence({ metadata }: Owner, { matchingPrecedence }: Spec): number {
  return metadata.namespace === SYSTEM_NAMESPACE ? Math.min(matchingPrecedence, SYSTEM_PRECEDENCE) : matchingPrecedence;
}
