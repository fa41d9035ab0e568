import { SKIP_ANNOTATION } from "../../../api/names";
import { type JsonObject, objectOf, textOf } from "../../../core/json";
import { isSkipped, labelsOf, type Metadata, ownerOf } from "../../../cluster/read/received";
import { bindingView } from "../../../cluster/read/views";
import { workloadView } from "../../../cluster/read/workload-views";
import { KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import { standsFor } from "../../../core/views";
import { CliError } from "../../streams";
import type { PartialReader } from "../reader";
import { describeSubject, type Subject } from "../subject";
import { when } from "../terminal";

/** An object, with what decides whether a target selects it. */
interface Named {
  readonly kind: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The subject and what it belongs to, as the API server has it. */
export interface LiveSubject {
  /** Absent for a cluster-scoped subject. */
  readonly namespace?: string;
  /** Of the subject, its workload, its ServiceAccount, and what uses a ServiceAccount, such as `Deployment/web`. */
  readonly ids: readonly string[];
  /** UIDs of those of them that were read. */
  readonly uids: ReadonlySet<string>;
  /** The subject and its owners, or the workloads of a ServiceAccount. */
  readonly workloads: readonly Named[];
  /** Sentences for people. */
  readonly notes: readonly string[];
}

/**
 * Reads the subject, its workload, the ServiceAccount of a pod, and what uses a ServiceAccount.
 *
 * @throws CliError if the subject does not exist
 */
export async function readLive(reader: PartialReader, subject: Subject, nowMs: number): Promise<LiveSubject> {
  const { namespace, kind, name } = subject;
  const raw = await reader.get(KINDS[kind], { namespace, name });
  if (raw === null) throw new CliError(`${describeSubject(subject)} does not exist; see \`kubectl get cres -A\``);
  const first = foundIn(kind, name, raw ?? {});
  const owners = await readOwner(reader, first, namespace);
  const account = kind === "Pod" ? await readAccount(reader, first, namespace) : undefined;
  const users = kind === "ServiceAccount" ? await readUsers(reader, subject) : NO_USERS;
  const read = [first, ...owners, ...(account === undefined ? [] : [account])];
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ids: [...read, ...users.workloads, ...users.bindings].map(one => `${one.kind}/${one.name}`),
    uids: new Set(read.flatMap(one => textOf(objectOf(one.raw["metadata"])["uid"]) ?? [])),
    workloads: [first, ...owners, ...users.workloads],
    notes: [
      ...describeFirst(first.raw, nowMs),
      ...owners.map(one => `It belongs to ${one.kind}/${one.name}.`),
      ...(account === undefined ? [] : [describeAccount(account, nowMs)]),
      ...users.notes,
      ...[...read, ...users.workloads]
        .filter(({ skip }) => skip)
        .map(one => `The operator does not act on ${one.kind}/${one.name}: annotation ${SKIP_ANNOTATION}.`),
    ],
  };
}

interface Found extends Named {
  readonly raw: JsonObject;
  readonly skip: boolean;
}

function foundIn(kind: string, name: string, raw: JsonObject): Found {
  const metadata = objectOf(raw["metadata"]) as Metadata;
  return { kind, name, raw, labels: labelsOf(metadata), skip: isSkipped(metadata) };
}

/** One that cannot be read is still known by name. As in isOwnedBy of the remedies, the template's hash leads from a pod to its Deployment. */
async function readOwner(reader: PartialReader, { raw, labels }: Found, namespace?: string): Promise<Found[]> {
  const owner = ownerOf(objectOf(raw["metadata"]) as Metadata);
  if (owner === undefined) return [];
  const end = `-${labels["pod-template-hash"] ?? ""}`;
  const isOfDeployment = owner.kind === "ReplicaSet" && end !== "-" && owner.name.endsWith(end);
  const [kind, name] = isOfDeployment ? ["Deployment", owner.name.slice(0, -end.length)] : [owner.kind, owner.name];
  const known = WORKLOAD_KINDS.find(one => one === kind);
  const found = known && (await reader.get(KINDS[known], { namespace, name }));
  return [foundIn(kind, name, found ?? {})];
}

async function readAccount(reader: PartialReader, pod: Found, namespace?: string): Promise<Found | undefined> {
  const name = textOf(objectOf(pod.raw["spec"])["serviceAccountName"]) ?? "default";
  const raw = await reader.get(KINDS.ServiceAccount, { namespace, name });
  // A missing ServiceAccount is evidence as well.
  return raw === undefined ? undefined : foundIn("ServiceAccount", name, raw ?? {});
}

const NO_USERS: Awaited<ReturnType<typeof readUsers>> = { workloads: [], bindings: [], notes: [] };

/** What uses a ServiceAccount, as far as it could be read. */
async function readUsers(reader: PartialReader, { namespace, name: account }: Subject) {
  const workloads = await Promise.all(
    WORKLOAD_KINDS.map(kind => reader.list(KINDS[kind], raw => workloadView(kind, raw), { namespace })),
  );
  const bindings = await Promise.all([
    reader.list(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw), { namespace }),
    reader.list(KINDS.ClusterRoleBinding, raw => bindingView("ClusterRoleBinding", raw)),
  ]);
  const using = workloads.flatMap(list => list ?? []).filter(one => one.serviceAccountName === account);
  const naming = bindings
    .flatMap(list => list ?? [])
    .filter(({ subjects }) => subjects.some(one => standsFor(one, `${namespace}/${account}`)));
  const used = using.map(({ kind, name, replicas }) => `${kind}/${name} (replicas: ${replicas})`);
  const bound = naming.map(({ kind, name, roleRef }) => `${kind}/${name} (${roleRef.kind} ${roleRef.name})`);
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

function describeFirst(raw: JsonObject, nowMs: number): string[] {
  const metadata = objectOf(raw["metadata"]);
  const [created, deleted] = [textOf(metadata["creationTimestamp"]), textOf(metadata["deletionTimestamp"])];
  const phase = textOf(objectOf(raw["status"])["phase"]);
  return [
    ...(created === undefined
      ? []
      : [`Created ${when(created, nowMs)}${phase === undefined ? "" : `; phase ${phase}`}.`]),
    ...(deleted === undefined ? [] : [`Its deletion began ${when(deleted, nowMs)}.`]),
  ];
}

function describeAccount({ name, raw }: Found, nowMs: number): string {
  const created = textOf(objectOf(raw["metadata"])["creationTimestamp"]);
  return created === undefined
    ? `ServiceAccount ${name} does not exist: a restart cannot help.`
    : `ServiceAccount ${name} was created ${when(created, nowMs)}.`;
}
