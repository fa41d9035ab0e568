// Objects of the simulated API: their shape, the refusals of a server, and what is done to plain JSON.

/** metadata of an object. */
export interface Meta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFields[];
  generateName?: string;
}

/** One entry of metadata.ownerReferences. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** One entry of metadata.managedFields. */
export interface ManagedFields {
  manager: string;
  operation: "Apply" | "Update";
  apiVersion: string;
  time?: string;
  fieldsType: "FieldsV1";
  fieldsV1: Record<string, unknown>;
  subresource?: string;
}

/** One of status.conditions. */
export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

interface Loose {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each kind has its own fields, and a world reads many of them
  [field: string]: any;
}

interface TokenSource extends Loose {
  audience?: string;
  expirationSeconds?: number;
}

/** One of spec.volumes. */
export interface Volume {
  name: string;
  projected?: Loose & { sources?: (Loose & { serviceAccountToken?: TokenSource })[] };
}

/** One of spec.containers. */
export interface Container {
  name: string;
  image?: string;
  ports?: object[];
  env?: object[];
  volumeMounts?: { name: string; mountPath: string; readOnly?: boolean }[];
}

/** spec.template of a workload. */
export interface Template {
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: Spec;
}

interface UpdateStrategy {
  type?: string;
  rollingUpdate?: { maxSurge?: number | string; maxUnavailable?: number | string };
}

type Some<Names extends string, T> = { [Name in Names]?: T };

/** Fields of specs that a world reads; each kind has some of them, and others. */
export interface Spec
  extends Loose,
    Some<"nodeName" | "serviceAccountName" | "holderIdentity" | "acquireTime" | "renewTime" | "mode", string>,
    Some<"replicas" | "terminationGracePeriodSeconds" | "progressDeadlineSeconds", number>,
    Some<"leaseDurationSeconds" | "leaseTransitions", number>,
    Some<"automountServiceAccountToken" | "hostNetwork" | "unschedulable" | "paused" | "suspend", boolean>,
    Some<"nodeSelector" | "hard", Record<string, string>>,
    Some<"minAvailable" | "maxUnavailable", number | string>,
    Some<"strategy" | "updateStrategy", UpdateStrategy> {
  containers?: Container[];
  volumes?: Volume[];
  /** Every workload has one. */
  template: Template;
  selector?: { matchLabels?: Record<string, string> };
  finalizers?: string[];
  priorityLevelConfiguration?: { name?: string };
  targets?: { kind: string; name?: string; selector?: object }[];
  names?: { plural: string };
}

/** Fields of statuses, likewise. */
export interface Status
  extends Loose,
    Some<"phase" | "podIP" | "currentRevision", string>,
    Some<"observedGeneration" | "desiredNumberScheduled", number | undefined>,
    Some<"disruptionsAllowed" | "currentHealthy" | "desiredHealthy", number> {
  conditions?: Condition[];
  allocatable?: { pods?: string };
  disruptedPods?: Record<string, string>;
  restarts?: { pod: string; podUID?: string; time: string; cause: string; outcome: string }[];
  flows?: { serviceAccount: string; state: string; until?: string }[];
}

/** An object as the store has it. What the store gives out is frozen. */
export interface Obj extends Loose {
  apiVersion: string;
  kind: string;
  metadata: Meta;
  spec?: Spec;
  status?: Status;
}

/** An object to create: the store fills in the rest. */
export interface NewObj {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<Meta>;
  [field: string]: unknown;
}

/** Who writes, as metadata.managedFields records it. */
export interface By {
  readonly manager: string;
  readonly operation?: "Apply" | "Update";
  readonly subresource?: string;
}

/** What `details` of a metav1.Status says. */
export interface Details {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

/** An answer other than 2xx, as a metav1.Status. */
export class Refusal extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: Details | undefined;

  constructor(code: number, reason: string, message: string, details?: Details) {
    super(message);
    this.name = "Refusal";
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The body of the answer. */
  get status(): object {
    const { message, reason, details, code } = this;
    return {
      ...{ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message },
      ...(reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

/** A pod, or a node, counts as Ready by its condition. */
export function isReady(pod: Obj): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
}

/** Does something that the API server may refuse, such as for an object that is gone. */
export function attempt(deed: () => void): void {
  try {
    deed();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

/** A deep copy of JSON. */
export function clone<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(item => clone<unknown>(item)) as T;
  const copy: Record<string, unknown> = {};
  for (const field in value) copy[field] = clone<unknown>(value[field]);
  return copy as T;
}

/** Freezes JSON to its depth. A part that is frozen already is not visited again. */
export function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const field in value) freeze(value[field]);
  return Object.freeze(value);
}

/** Reports whether two JSON values are equal; an undefined field is none. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isCompound(a) || !isCompound(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  return Array.isArray(a) ? sameLists(a, b as unknown as unknown[]) : sameFields(a, b);
}

function isCompound(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function sameFields(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const field in a) if (!same(a[field], b[field])) return false;
  for (const field in b) if (b[field] !== undefined && a[field] === undefined) return false;
  return true;
}

function sameLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, at) => same(item, b[at]));
}

/** A changed copy of JSON without undefined fields; the parts that are as before are those from before. */
export function settle<T>(value: T, old?: unknown): T {
  if (value === old || !isCompound(value)) return value;
  const isAlike = isCompound(old) && Array.isArray(old) === Array.isArray(value);
  const before: Record<string, unknown> = isAlike ? old : {};
  let alike = 0;
  for (const field in value) if (settleField(value, field, before[field])) alike++;
  const isSame = Object.keys(before).length === alike && Object.keys(value).length === alike;
  return isSame && isAlike ? (before as T) : value;
}

/** Returns whether the field is as before. */
function settleField(fields: Record<string, unknown>, field: string, old: unknown): boolean {
  const part = settle(fields[field], old);
  if (part === undefined) Reflect.deleteProperty(fields, field);
  else if (part !== fields[field] && !Object.isFrozen(fields)) fields[field] = part;
  return part === old && part !== undefined;
}

/** `namespace/name`, or the name of a cluster-scoped object: the order of the API server's lists. */
export function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
}
