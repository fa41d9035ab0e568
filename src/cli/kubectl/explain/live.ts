import type { Resource } from "../../../cluster/http/resources";
import { SKIP_ANNOTATION } from "../../../api/names";
import { arrayOf, objectOf, textOf, textsOf, timeOf, type JsonObject } from "../../../core/json";
import { bindingView } from "../../../cluster/read/views";
import { workloadView } from "../../../cluster/read/workload-views";
import { KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import type { BindingView, WorkloadView } from "../../../core/views";
import { workloadId } from "../../../restarts/claims";
import { CliError } from "../../streams";
import { when } from "../terminal";
import type { PartialReader } from "../reader";
import { describeSubject, type Subject } from "../subject";
import { idOf } from "./evidence";

/** The subject and what it belongs to, as the API server has it. */
export interface LiveSubject {
  /** Absent for a cluster-scoped subject. */
  readonly namespace?: string;
  /** Of the subject, its workload and its ServiceAccount, as in Evidence. */
  readonly ids: readonly string[];
  /** UIDs of those of them that were read, by id. */
  readonly uids: ReadonlyMap<string, string | undefined>;
  /** Labels of the subject and its workload, for selectors. */
  readonly labelled: readonly { readonly kind: string; readonly labels: Readonly<Record<string, string>> }[];
  /** Those of them that have the skip annotation. */
  readonly skippedBy: readonly string[];
  /** Sentences for people. */
  readonly notes: readonly string[];
}

const REPLICA_SETS: Resource = { group: "apps", version: "v1", plural: "replicasets" };
const KIND_RESOURCES: Readonly<Record<string, Resource>> = { ...KINDS, ReplicaSet: REPLICA_SETS };

interface Found {
  readonly kind: string;
  readonly name: string;
  readonly raw: JsonObject;
}

/**
 * Reads the subject, its owners, the ServiceAccount of a pod, and what uses a ServiceAccount.
 *
 * @throws CliError if the subject does not exist
 */
export async function readLive(reader: PartialReader, subject: Subject, nowMs: number): Promise<LiveSubject> {
  const chain = await readChain(reader, subject);
  const account = await readAccount(reader, chain, subject.namespace);
  const users = subject.kind === "ServiceAccount" ? await readUsers(reader, subject) : NO_USERS;
  const all = [...chain, ...(account === undefined ? [] : [account])];
  const read = all.map(({ kind, name, raw }) => ({ id: idOf(kind, name, subject.namespace), raw }));
  const ids = [
    ...read.map(({ id }) => id),
    ...ownerOfLast(chain),
    ...users.workloads.map(workloadId),
    ...users.bindings.map(({ kind, name, namespace }) => idOf(kind, name, namespace)),
  ];
  return {
    ...(subject.namespace === undefined ? {} : { namespace: subject.namespace }),
    ids: [...new Set(ids)],
    uids: new Map(read.map(({ id, raw }) => [id, textOf(metadataOf(raw)["uid"])])),
    labelled: [...chain.map(({ kind, raw }) => ({ kind, labels: labelsOf(raw) })), ...users.workloads],
    skippedBy: [
      ...all.flatMap(({ kind, name, raw }) => (isSkipped(raw) ? [`${kind}/${name}`] : [])),
      ...users.workloads.filter(({ skip }) => skip).map(workloadId),
    ],
    notes: [...notesOf(chain, account, nowMs), ...users.notes],
  };
}

/** What uses a ServiceAccount, as far as it could be read. */
interface Users {
  readonly workloads: readonly WorkloadView[];
  readonly bindings: readonly BindingView[];
  /** Sentences for people. */
  readonly notes: readonly string[];
}

const NO_USERS: Users = { workloads: [], bindings: [], notes: [] };

async function readUsers(reader: PartialReader, { namespace, name }: Subject): Promise<Users> {
  const place = { namespace };
  const workloads = await Promise.all(
    WORKLOAD_KINDS.map(kind => reader.list({ resource: KINDS[kind], place }, raw => workloadView(kind, raw))),
  );
  const bindings = await Promise.all([
    reader.list({ resource: KINDS.RoleBinding, place }, raw => bindingView("RoleBinding", raw)),
    reader.list({ resource: KINDS.ClusterRoleBinding }, raw => bindingView("ClusterRoleBinding", raw)),
  ]);
  const using = workloads.flatMap(list => list ?? []).filter(({ serviceAccountName }) => serviceAccountName === name);
  const naming = bindings
    .flatMap(list => list ?? [])
    .filter(({ subjects }) =>
      subjects.some(one => one.kind === "ServiceAccount" && one.name === name && one.namespace === namespace),
    );
  const used = using.map(view => `${workloadId(view)} (replicas: ${view.replicas})`);
  const bound = naming.map(one => `${one.kind}/${one.name} (${one.roleRef.kind} ${one.roleRef.name})`);
  const notes = [
    `Workloads that use it: ${namesIn(used, workloads)}.`,
    `Bindings that name it: ${namesIn(bound, bindings)}.`,
  ];
  return { workloads: using, bindings: naming, notes };
}

/** @param lists undefined where a list could not be read */
function namesIn(names: readonly string[], lists: readonly unknown[]): string {
  return [...names, ...(lists.includes(undefined) ? ["others are unknown"] : [])].join(", ") || "none";
}

/** An owner that could not be read is still known by name. */
function ownerOfLast(chain: readonly Found[]): string[] {
  const owner = controllerOf(chain.at(-1)?.raw ?? {});
  return owner === undefined ? [] : [idOf(owner.kind, owner.name)];
}

async function readChain(reader: PartialReader, subject: Subject): Promise<Found[]> {
  const chain: Found[] = [];
  let next: { kind: string; name: string } | undefined = subject;
  while (next !== undefined && chain.length < 3) {
    const { kind, name } = next as { kind: string; name: string };
    const resource = KIND_RESOURCES[kind];
    if (resource === undefined) break;
    const raw: JsonObject | null | undefined = await reader.get(resource, { namespace: subject.namespace, name });
    if (raw === null && chain.length === 0) throw new CliError(`${describeSubject(subject)} does not exist`);
    if (raw === null || raw === undefined) break;
    chain.push({ kind, name, raw });
    next = controllerOf(raw);
  }
  return chain;
}

async function readAccount(
  reader: PartialReader,
  [first]: readonly Found[],
  namespace: string | undefined,
): Promise<Found | undefined> {
  if (first?.kind !== "Pod") return undefined;
  const name = textOf(objectOf(first.raw["spec"])["serviceAccountName"]) ?? "default";
  const raw = await reader.get(KINDS.ServiceAccount, { namespace, name });
  // A missing ServiceAccount is evidence as well.
  return raw === undefined ? undefined : { kind: "ServiceAccount", name, raw: raw ?? {} };
}

function notesOf([first, ...owners]: readonly Found[], account: Found | undefined, nowMs: number): string[] {
  if (first === undefined) return [];
  const created = textOf(metadataOf(first.raw)["creationTimestamp"]);
  const phase = textOf(objectOf(first.raw["status"])["phase"]);
  const deleted = textOf(metadataOf(first.raw)["deletionTimestamp"]);
  return [
    `Created ${when(created, nowMs)}${phase === undefined ? "" : `; phase ${phase}`}.`,
    ...(deleted === undefined ? [] : [`Its deletion began ${when(deleted, nowMs)}.`]),
    ...owners.map(({ kind, name }) => `It belongs to ${kind}/${name}.`),
    ...(account === undefined ? [] : [describeAccount(account, created, nowMs)]),
  ];
}

function describeAccount({ name, raw }: Found, podCreated: string | undefined, nowMs: number): string {
  const created = textOf(metadataOf(raw)["creationTimestamp"]);
  if (created === undefined) return `ServiceAccount ${name} does not exist: a restart cannot help.`;
  const isOlder = (timeOf(podCreated) ?? Infinity) < (timeOf(created) ?? -Infinity);
  const since = `ServiceAccount ${name} was created ${when(created, nowMs)}`;
  return isOlder
    ? `${since}, after the pod: the pod's first token names a deleted ServiceAccount.`
    : `${since}, before the pod.`;
}

function labelsOf(raw: JsonObject): Readonly<Record<string, string>> {
  return textsOf(metadataOf(raw)["labels"]);
}

function isSkipped(raw: JsonObject): boolean {
  return textsOf(metadataOf(raw)["annotations"])[SKIP_ANNOTATION] === "true";
}

function metadataOf(raw: JsonObject): JsonObject {
  return objectOf(raw["metadata"]);
}

/** Returns the controlling owner of an object, as kind and name. */
function controllerOf(raw: JsonObject): { kind: string; name: string } | undefined {
  const owners = arrayOf(objectOf(raw["metadata"])["ownerReferences"]).map(objectOf);
  const owner = owners.find(({ controller }) => controller === true);
  const kind = textOf(owner?.["kind"]);
  const name = textOf(owner?.["name"]);
  return kind === undefined || name === undefined ? undefined : { kind, name };
}
