import { LEVELS_ANNOTATION } from "../../api/names";
import { isManaged, ownerAnnotations, ownerLabels } from "../../core/owned";
import { leaseFlowSchemaName } from "../../core/flow-schema-names";
import { viewIn } from "../../core/desired";
import type { ClusterObjectView } from "../../core/views";
import type { FlowIsolationFacts, Spec } from "./facts";
import { BUILT_IN_LEASE_LEVEL, LEASE_LEVEL, levelOf } from "./levels";
import { flowSpec, precedence, type Piece, type Wanted } from "./wanted";

type LeaseFacts = Pick<FlowIsolationFacts, "owner" | "schemas" | "levels">;

/** The FlowSchema that assigns a ServiceAccount's Lease requests to the level for leases; it matches before that of its other requests. */
export function wantedLeaseFlow(facts: LeaseFacts, account: string, spec: Spec): Wanted {
  const { owner } = facts;
  const name = leaseFlowSchemaName(owner, account);
  const level = leaseLevel(facts, name);
  return {
    kind: "FlowSchema",
    name,
    labels: ownerLabels(owner),
    annotations: { ...ownerAnnotations(owner), ...(level === LEASE_LEVEL ? { [LEVELS_ANNOTATION]: level } : {}) },
    spec: flowSpec(owner, account, level, {
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

/**
 * The built-in level if the level for leases is not the operator's; and for a FlowSchema of an earlier version until that level exists, since
 * the API server ignores a FlowSchema without its level.
 */
function leaseLevel({ schemas, levels }: LeaseFacts, name: string): string {
  const level = levels?.find(view => view.name === LEASE_LEVEL);
  if (level !== undefined && !isManaged(level)) return BUILT_IN_LEASE_LEVEL;
  const own = schemas?.find(view => view.name === name);
  const isThere = level !== undefined && level.deletedAtMs === undefined;
  return own !== undefined && isOfEarlierVersion(own) && !isThere ? BUILT_IN_LEASE_LEVEL : LEASE_LEVEL;
}

/** Reports whether an earlier version made the FlowSchema, so that it moves once the level for leases exists. */
export function isToMigrate({ state }: Piece): boolean {
  const view = viewIn(state);
  return state.is !== "foreign" && view !== undefined && isOfEarlierVersion(view);
}

/** Reports whether a FlowSchema for leases moves to the level for leases: that is no change by another manager. */
export function isMigrating(lease: Piece | undefined): boolean {
  if (lease?.state.is !== "different") return false;
  return isToMigrate(lease) && lease.wanted.annotations[LEVELS_ANNOTATION] !== undefined;
}

/** A person's change of the level leaves the annotation. */
function isOfEarlierVersion(view: ClusterObjectView): boolean {
  return levelOf(view) === BUILT_IN_LEASE_LEVEL && view.annotations[LEVELS_ANNOTATION] === undefined;
}
