import type { FlowIsolationSpec } from "../../api/controller-resilience";
import { FLOW_PREFIX, MANAGED_BY_LABEL, MANAGER } from "../../api/names";
import type { Intent, ObjectRef } from "../../core/intent";
import { covers, type JsonObject } from "../../core/json";
import {
  isManaged,
  isOwnedBy,
  isOwnedName,
  levelOf,
  ownedName,
  type Owner,
  ownerAnnotations,
  ownerLabels,
  QUARANTINE_LEVEL,
} from "../../core/owned";
import { SYSTEM_NAMESPACE } from "../../core/text";
import type { ClusterKind, ClusterObjectView } from "../../core/views";

// The objects of flow control that the operator makes: as they are wanted, compared with the cluster, and written. Pure.

/** Flow control as observed for one object. */
export interface FlowControl {
  /** The object that the FlowSchemas are made for. */
  readonly owner: Owner;
  /** All FlowSchemas and PriorityLevelConfigurations of the cluster. */
  readonly schemas: readonly ClusterObjectView[];
  readonly levels: readonly ClusterObjectView[];
}

// Seats of a level = ceil(server's limit x its shares / all shares). The limit of a default API server is 600 (400 reading and 200 writing
// requests at a time), and the built-in levels have 245 shares: workload-low 100, workload-high 40, node-high 40, system 30,
// global-default 20, leader-election 10, catch-all 5 (kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go).
// The choice and its reasons: docs/adr/0015.

/** Limits of a level. */
export interface LevelSettings {
  readonly nominalConcurrencyShares: number;
  readonly lendablePercent: number;
  readonly borrowingLimitPercent: number;
  readonly queues: number;
  readonly handSize: number;
  readonly queueLengthLimit: number;
}

/** The level of all custom controllers. */
export const SHARED_LEVEL = `${FLOW_PREFIX}shared`;

/** The level for leases: a throttled client keeps its leases, and does not crowd out those of the control plane. */
export const LEASE_LEVEL = `${FLOW_PREFIX}leases`;

/** The level on which a built-in FlowSchema (kube-system-service-accounts) has the ServiceAccounts of kube-system. */
const SYSTEM_LEVEL = "workload-high";

/** Few seats, since they bound how many requests of a flood run in parallel. A queue holds the requests of a careless client. */
export const SHARED_SETTINGS: LevelSettings = {
  nominalConcurrencyShares: 10,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queues: 128,
  handSize: 2,
  queueLengthLimit: 250,
};

/** A lease takes milliseconds, so this level may borrow. */
const LEASE_SETTINGS: LevelSettings = {
  nominalConcurrencyShares: 5,
  lendablePercent: 0,
  borrowingLimitPercent: 100,
  queues: 64,
  handSize: 4,
  queueLengthLimit: 50,
};

/**
 * Nothing is ever dispatched: each request waits for a quarter of its deadline (15 s of the usual minute) and is then rejected, so a client that
 * loops on the answer slows down. An immediate rejection would feed the loop (docs/facts/kubernetes.md).
 */
export const QUARANTINE_SETTINGS: LevelSettings = {
  nominalConcurrencyShares: 0,
  lendablePercent: 0,
  borrowingLimitPercent: 0,
  queues: 1,
  handSize: 1,
  queueLengthLimit: 2_000,
};

/** Requests still queued in quarantine at the release are rejected, and counted, within this time in milliseconds. */
export const DRAINED_MS = 15_000;

/** The levels that all objects share. */
const LEVELS: ReadonlyMap<string, LevelSettings> = new Map([
  [SHARED_LEVEL, SHARED_SETTINGS],
  [LEASE_LEVEL, LEASE_SETTINGS],
  [QUARANTINE_LEVEL, QUARANTINE_SETTINGS],
]);

/** Whether runaways are throttled: not by a value that only a later version knows, with which an existing throttle ends. */
export function throttles({ requestRate: { onRunaway } }: FlowIsolationSpec): boolean {
  return onRunaway === "Throttle";
}

/**
 * The level of the targets' ServiceAccounts while they are not throttled. Controllers of kube-system keep the level that Kubernetes gives them,
 * which has more seats than the shared level.
 */
export function usualLevel({ owner, levels }: Pick<FlowControl, "owner" | "levels">): string {
  const isThere = levels.some(view => view.name === SYSTEM_LEVEL && view.spec["type"] === "Limited");
  return owner.metadata.namespace === SYSTEM_NAMESPACE && isThere ? SYSTEM_LEVEL : SHARED_LEVEL;
}

/** API group and version of both kinds. */
export const FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1";

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
   * - `pending`, `dangling`: a FlowSchema as wanted that the API server has not taken up yet, or that refers to a level which does not exist.
   * - `deleting`: it is being deleted, and can be created again afterwards.
   * - `foreign`: another owner's object has its name.
   */
  readonly is: "missing" | "right" | "different" | "pending" | "dangling" | "deleting" | "foreign";
  /** The object that has its name; it can be foreign. */
  readonly view?: ClusterObjectView;
  /** For how long every look has seen it so, in milliseconds. Absent: always. */
  readonly forMs?: number;
}

/** By array: a cache returns the same one until it changes, and every ServiceAccount of every object looks for its own. */
const known = new WeakMap<readonly ClusterObjectView[], ReadonlyMap<string, ClusterObjectView>>();

function viewNamed(name: string, views: readonly ClusterObjectView[]): ClusterObjectView | undefined {
  const byName = known.get(views) ?? new Map(views.map(view => [view.name, view]));
  known.set(views, byName);
  return byName.get(name);
}

/** Compares a wanted object with all objects of its kind. Further labels, annotations and fields make no difference. */
export function pieceOf(wanted: Wanted, views: readonly ClusterObjectView[]): Piece {
  const view = viewNamed(wanted.name, views);
  return view === undefined ? { wanted, is: "missing" } : { wanted, view, is: compare(view, wanted) };
}

function compare(view: ClusterObjectView, wanted: Wanted): Piece["is"] {
  const { labels, annotations, spec, deletedAtMs, isDangling } = view;
  if (!covers(labels, wanted.labels)) return "foreign";
  if (deletedAtMs !== undefined) return "deleting";
  if (!covers(spec, wanted.spec) || !covers(annotations, wanted.annotations)) return "different";
  if (wanted.kind !== "FlowSchema" || isDangling === false) return "right";
  return isDangling === true ? "dangling" : "pending";
}

/** The levels that the operator creates for this object. The quarantine level exists before it is needed: in a crisis one patch must suffice. */
export function wantedLevels(control: FlowControl, spec: FlowIsolationSpec): Wanted[] {
  const isWanted = (name: string): boolean =>
    name === LEASE_LEVEL || (name === SHARED_LEVEL ? usualLevel(control) === name : throttles(spec));
  return Array.from(LEVELS).flatMap(([name, settings]) => (isWanted(name) ? [wantedLevel(name, settings)] : []));
}

/** Its spec includes the fields that the API server would default. */
function wantedLevel(name: string, { queues, handSize, queueLengthLimit, ...seats }: LevelSettings): Wanted {
  const limitResponse = { type: "Queue", queuing: { queues, handSize, queueLengthLimit } };
  return {
    kind: "PriorityLevelConfiguration",
    name,
    labels: { [MANAGED_BY_LABEL]: MANAGER },
    annotations: {},
    spec: { type: "Limited", limited: { ...seats, limitResponse } },
  };
}

/** Name of the FlowSchema of a ServiceAccount's requests. Each object has its own FlowSchemas, so two objects never write the same one. */
export function flowSchemaName({ metadata }: Owner, account: string): string {
  return ownedName(FLOW_PREFIX, [metadata.namespace, account], [metadata.uid, account]);
}

/** Its FlowSchema, compared with the wanted one on the level that it is on: one that is right measures this ServiceAccount, and nothing else. */
export function presentFlow(control: FlowControl, account: string): Piece {
  const view = viewNamed(flowSchemaName(control.owner, account), control.schemas);
  return flowOn((view && levelOf(view)) ?? usualLevel(control), control, account);
}

/** The FlowSchema that assigns all requests of a ServiceAccount to that level. */
export function flowOn(level: string, { owner, schemas }: FlowControl, account: string): Piece {
  const rules = {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  };
  const spec = { ...specOn(level, precedence(owner)), rules: [{ ...subjectsOf(owner, account), ...rules }] };
  return pieceOf(wantedFlow(flowSchemaName(owner, account), owner, spec), schemas);
}

/** The FlowSchema that assigns a ServiceAccount's Lease requests to the level for leases; it matches before that of its other requests. */
export function leaseFlow({ owner, schemas }: Pick<FlowControl, "owner" | "schemas">, account: string): Piece {
  const { namespace, uid } = owner.metadata;
  const name = ownedName(`${FLOW_PREFIX}leases-`, [namespace, account], [uid, account, "leases"]);
  const leases = {
    verbs: ["get", "create", "update", "patch"],
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    namespaces: ["*"],
  };
  const rules = [{ ...subjectsOf(owner, account), resourceRules: [leases] }];
  return pieceOf(wantedFlow(name, owner, { ...specOn(LEASE_LEVEL, precedence(owner) - 1), rules }), schemas);
}

function wantedFlow(name: string, owner: Owner, spec: JsonObject): Wanted {
  return { kind: "FlowSchema", name, labels: ownerLabels(owner), annotations: ownerAnnotations(owner), spec };
}

function specOn(level: string, matchingPrecedence: number): JsonObject {
  return {
    distinguisherMethod: { type: "ByUser" },
    matchingPrecedence,
    priorityLevelConfiguration: { name: level },
  };
}

function subjectsOf({ metadata: { namespace } }: Owner, name: string): JsonObject {
  return { subjects: [{ kind: "ServiceAccount", serviceAccount: { namespace, name } }] };
}

/** In kube-system before kube-system-service-accounts (900), a built-in FlowSchema that matches the ServiceAccounts of that namespace. */
function precedence({ metadata }: Owner): number {
  return metadata.namespace === SYSTEM_NAMESPACE ? 890 : 1_000;
}

/** Reasons of the Events about writes. */
export const EVENT = {
  Provision: "FlowProvisioned",
  Throttle: "FlowThrottled",
  Release: "FlowReleased",
  Remove: "FlowRemoved",
} as const;

/**
 * Creates an object or changes it to the wanted one; nothing else is written. Only create has the object's absence as a precondition; changes use
 * server-side apply.
 */
export function buildWrite({ wanted, is, view }: Piece, words: Pick<Intent, "why" | "eventReason">): Intent[] {
  const { kind, name, labels, annotations, spec } = wanted;
  const body = { metadata: { labels, annotations }, spec };
  if (is === "missing") return [{ verb: "create", target: { apiVersion: FLOW_CONTROL, kind, name }, body, ...words }];
  return is === "different" && view !== undefined ? [{ verb: "apply", target: refOf(view), body, ...words }] : [];
}

function refOf({ apiVersion, kind, name, uid, resourceVersion }: ClusterObjectView): ObjectRef {
  return { apiVersion, kind, name, uid, resourceVersion };
}

/**
 * Deletes objects of an owner that are no longer wanted. A level is deleted after the last FlowSchema of the operator, including those of other
 * owners. Pure.
 *
 * @param isWanted by name
 */
export function buildSurplus(
  { owner, schemas, levels }: FlowControl,
  isWanted: (name: string) => boolean = () => false,
): Intent[] {
  const unused = levels.filter(view => isManaged(view) && LEVELS.has(view.name) && !isLevelUsed(view.name, schemas));
  return [...schemas.filter(view => isMadeFor(view, owner)), ...unused]
    .filter(({ name, deletedAtMs }) => deletedAtMs === undefined && !isWanted(name))
    .map(view => {
      const why = `${view.kind} ${view.name} is no longer needed.`;
      return { verb: "delete", target: refOf(view), why, eventReason: EVENT.Remove };
    });
}

/** The levels exist while the operator has any FlowSchema, or another one refers to them. */
export function isLevelUsed(level: string, schemas: readonly ClusterObjectView[]): boolean {
  return schemas.some(
    schema => levelOf(schema) === level || (isManaged(schema) && isOwnedName(FLOW_PREFIX, schema.name)),
  );
}

/** Reports whether the operator made it for that object. A person's copy has the labels, but not the operator's form of name. Pure. */
export function isMadeFor(view: ClusterObjectView, owner: Owner): boolean {
  return isOwnedBy(view, owner) && isOwnedName(FLOW_PREFIX, view.name);
}
