import type { Resource } from "../../../cluster/http/resources";
import { SKIP_ANNOTATION } from "../../../api/names";
import { arrayOf, objectOf, textOf, textsOf, timeOf, type JsonObject } from "../../../core/json";
import { KINDS } from "../../../core/kinds";
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
 * Reads the subject, its owners, and the ServiceAccount of a pod.
 *
 * @throws CliError if the subject does not exist
 */
export async function readLive(reader: PartialReader, subject: Subject, nowMs: number): Promise<LiveSubject> {
  const chain = await readChain(reader, subject);
  const account = await readAccount(reader, chain, subject.namespace);
  const all = [...chain, ...(account === undefined ? [] : [account])];
  const ids = [
    idOf(subject.kind, subject.name, subject.namespace),
    ...all.slice(1).map(({ kind, name }) => idOf(kind, name)),
    ...ownerOfLast(chain),
  ];
  return {
    ...(subject.namespace === undefined ? {} : { namespace: subject.namespace }),
    ids: [...new Set(ids)],
    labelled: chain.map(({ kind, raw }) => ({ kind, labels: textsOf(metadataOf(raw)["labels"]) })),
    skippedBy: all.flatMap(({ kind, name, raw }) => (isSkipped(raw) ? [`${kind}/${name}`] : [])),
    notes: notesOf(chain, account, nowMs),
  };
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
