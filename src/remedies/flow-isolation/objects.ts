import { FLOW_PREFIX, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import { SYSTEM_NAMESPACE } from "../../core/components";
import { covers, type JsonObject } from "../../core/json";
import type { Intent, ObjectRef } from "../../core/intent";
import {
  isManaged,
  isOwnedBy,
  isOwnedName,
  levelOf,
  ownedName,
  ownerAnnotations,
  ownerLabels,
  QUARANTINE_LEVEL,
} from "../../core/owned";
import type { ClusterKind, ClusterObjectView } from "../../core/views";
import { type FlowIsolationFacts, type Owner, type Spec, throttles } from "./facts";
import {
  isCommon,
  LEASE_LEVEL,
  LEASE_SETTINGS,
  type LevelSettings,
  levelSpec,
  QUARANTINE_SETTINGS,
  SHARED_LEVEL,
  SHARED_SETTINGS,
  usualLevel,
} from "./levels";

/** API group and version of both kinds. */
export const FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1";

/** Name of the FlowSchema of a ServiceAccount's requests. Each object has its own FlowSchemas, so two objects never write the same one. */
export function flowSchemaName({ metadata }: Owner, account: string): string {
  return ownedName(FLOW_PREFIX, [metadata.namespace, account], [metadata.uid, account]);
}

/** Name of the FlowSchema of its requests for Leases, which matches before the other. */
function leaseFlowSchemaName({ metadata }: Owner, account: string): string {
  const { namespace, uid } = metadata;
  return ownedName(`${FLOW_PREFIX}leases-`, [namespace, account], [uid, account, "leases"]);
}

/** An object of flow control as the operator wants it. */
export interface Wanted {
  readonly kind: ClusterKind;
  readonly name: string;
  /** Identify the owner: an object of this name without these labels is foreign. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: JsonObject;
}

/** A wanted object, compared with the cluster. */
export interface Piece {
  readonly wanted: Wanted;
  /**
   * - `right`, `different`: it exists as wanted, or its spec or an annotation differs.
   * - `deleting`: it is being deleted, and can be created again afterwards.
   * - `foreign`: another owner's object has its name.
   */
  readonly is: "missing" | "right" | "different" | "deleting" | "foreign";
  /** The object that has its name; it can be foreign. */
  readonly view?: ClusterObjectView;
}

/** By array: a cache returns the same one until it changes, and every ServiceAccount of every object looks for its own. */
const known = new WeakMap<readonly ClusterObjectView[], ReadonlyMap<string, ClusterObjectView>>();

/** Returns the object of that name. */
export function viewNamed(name: string, views: readonly ClusterObjectView[]): ClusterObjectView | undefined {
  const byName = known.get(views) ?? new Map(views.map(view => [view.name, view]));
  known.set(views, byName);
  return byName.get(name);
}

/** Compares a wanted object with all objects of its kind. Further labels, annotations and fields make no difference. */
export function pieceOf(wanted: Wanted, views: readonly ClusterObjectView[]): Piece {
  const view = viewNamed(wanted.name, views);
  return view === undefined ? { wanted, is: "missing" } : { wanted, view, is: compare(view, wanted) };
}

function compare({ labels, annotations, spec, deletedAtMs }: ClusterObjectView, wanted: Wanted): Piece["is"] {
  if (!covers(labels, wanted.labels)) return "foreign";
  if (deletedAtMs !== undefined) return "deleting";
  return covers(spec, wanted.spec) && covers(annotations, wanted.annotations) ? "right" : "different";
}

const PRECEDENCE = 1_000;

/** Before kube-system-service-accounts (900), a built-in FlowSchema that matches the ServiceAccounts of that namespace. */
const SYSTEM_PRECEDENCE = 890;

/** The levels that the operator creates for this object. */
export function wantedLevels(facts: FlowIsolationFacts, spec: Spec): Wanted[] {
  if (facts.accounts.length === 0) return [];
  const shared = usualLevel(facts) === SHARED_LEVEL ? [sharedLevel(SHARED_LEVEL, SHARED_SETTINGS)] : [];
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
export function wantedFlow({ owner }: Pick<FlowIsolationFacts, "owner">, account: string, level: string): Wanted {
  return {
    kind: "FlowSchema",
    name: flowSchemaName(owner, account),
    labels: ownerLabels(owner),
    annotations: ownerAnnotations(owner),
    spec: flowSpec(owner, account, level, {
      matchingPrecedence: precedence(owner),
      resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    }),
  };
}

/** The spec of a FlowSchema of a ServiceAccount. */
function flowSpec(
  owner: Owner,
  account: string,
  level: string,
  { matchingPrecedence, ...rules }: { readonly matchingPrecedence: number; readonly [rules: string]: unknown },
): JsonObject {
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

/** The FlowSchema that assigns a ServiceAccount's Lease requests to the level for leases; it matches before that of its other requests. */
export function wantedLeaseFlow({ owner }: Pick<FlowIsolationFacts, "owner">, account: string): Wanted {
  return {
    kind: "FlowSchema",
    name: leaseFlowSchemaName(owner, account),
    labels: ownerLabels(owner),
    annotations: ownerAnnotations(owner),
    spec: flowSpec(owner, account, LEASE_LEVEL, {
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

/** Reasons of the Events about writes. */
export const EVENT = {
  Provision: "FlowProvisioned",
  Throttle: "FlowThrottled",
  Release: "FlowReleased",
  Remove: "FlowRemoved",
} as const;

/**
 * Creates an object or changes it to the wanted one. Undefined for one that is right, being deleted, or foreign. Only create has the object's
 * absence as a precondition; changes use server-side apply.
 */
export function buildWrite(
  { wanted, is, view }: Piece,
  words: Pick<Intent, "why" | "eventReason">,
): Intent | undefined {
  const { kind, name, labels, annotations, spec } = wanted;
  const body = { metadata: { labels, annotations }, spec };
  if (is === "missing") return { verb: "create", target: { apiVersion: FLOW_CONTROL, kind, name }, body, ...words };
  if (is !== "different" || view === undefined) return undefined;
  return { verb: "apply", target: refOf(view), body, ...words };
}

function refOf({ apiVersion, kind, name, uid, resourceVersion }: ClusterObjectView): ObjectRef {
  return { apiVersion, kind, name, uid, resourceVersion };
}

/** The FlowSchemas and levels in the cluster. */
export interface Existing {
  readonly schemas: readonly ClusterObjectView[];
  readonly levels: readonly ClusterObjectView[];
}

/**
 * Deletes objects of an owner that are no longer wanted. A level is deleted after the last FlowSchema of the operator, including those of other
 * owners. Pure.
 *
 * @param isWanted by name
 */
export function buildSurplus(
  owner: Owner,
  { schemas, levels }: Existing,
  isWanted: (name: string) => boolean,
): Intent[] {
  const flows = schemas.filter(view => isMadeFor(view, owner) && isUnwanted(view, isWanted));
  const unused = levels.filter(
    view => isManaged(view) && isCommon(view.name) && isUnwanted(view, isWanted) && !isLevelUsed(view, schemas),
  );
  return [...flows, ...unused].map(view => {
    const why = `${view.kind} ${view.name} is no longer needed.`;
    return { verb: "delete", target: refOf(view), why, eventReason: EVENT.Remove };
  });
}

/** The levels exist while the operator has any FlowSchema, or another one refers to them. */
export function isLevelUsed(
  { name }: { readonly name: string },
  schemas: readonly Pick<ClusterObjectView, "name" | "labels" | "spec">[],
): boolean {
  return schemas.some(
    schema => levelOf(schema) === name || (isManaged(schema) && isOwnedName(FLOW_PREFIX, schema.name)),
  );
}

/** Reports whether the operator made it for that object. A person's copy has the labels, but not the operator's form of name. Pure. */
export function isMadeFor(view: ClusterObjectView, owner: Owner): boolean {
  return isOwnedBy(view, owner) && isOwnedName(FLOW_PREFIX, view.name);
}

function isUnwanted({ name, deletedAtMs }: ClusterObjectView, isWanted: (name: string) => boolean): boolean {
  return deletedAtMs === undefined && !isWanted(name);
}
