import { LEVELS_ANNOTATION } from "../../api/names";
import { isManaged, ownerAnnotations, ownerLabels } from "../../core/owned";
import { leaseFlowSchemaName } from "../../core/flow-schema-names";
import type { FlowIsolationFacts } from "./facts";
import { BUILT_IN_LEASE_LEVEL, LEASE_LEVEL } from "./levels";
import { flowSpec, precedence, type Wanted } from "./wanted";

type LeaseFacts = Pick<FlowIsolationFacts, "owner" | "levels">;

/** The FlowSchema that assigns a ServiceAccount's Lease requests to the level for leases; it matches before that of its other requests. */
export function wantedLeaseFlow(facts: LeaseFacts, account: string): Wanted {
  const { owner } = facts;
  const level = leaseLevel(facts);
  return {
    kind: "FlowSchema",
    name: leaseFlowSchemaName(owner, account),
    labels: ownerLabels(owner),
    annotations: { ...ownerAnnotations(owner), ...(level === LEASE_LEVEL ? { [LEVELS_ANNOTATION]: level } : {}) },
    spec: flowSpec(owner, account, level, {
      matchingPrecedence: precedence(owner) - 1,
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

/** The built-in level if another owner has the name of the level for leases. */
function leaseLevel({ levels }: LeaseFacts): string {
  const level = levels?.find(view => view.name === LEASE_LEVEL);
  return level === undefined || isManaged(level) ? LEASE_LEVEL : BUILT_IN_LEASE_LEVEL;
}
