import type { Resource } from "../../../cluster/http/resources";
import { SKIP_ANNOTATION } from "../../../api/names";
import { arrayOf, type JsonObject, objectOf, textOf, textsOf } from "../../../core/json";
import { bindingView } from "../../../cluster/read/views";
import { workloadView } from "../../../cluster/read/workload-views";
import { KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
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

const REPLICA_SETS: Resource = { group: "apps", version: "v1", plural: "replicasets" };
const KIND_RESOURCES: Readonly<Record<string, Resource>> = { ...KINDS, ReplicaSet: REPLICA_SETS };

/** Most owners of one object: a pod's ReplicaSet, and its Deployment. */
const MOST_OWNERS = 2;

/**
 * Reads the subject, its owners, the ServiceAccount of a pod, and what uses a ServiceAccount.
 *
 * @throws CliError if the subject does not exist
 */
export async function readLive(reader: PartialReader, subject: Subject, nowMs: number): Promise<LiveSubject> {
  const { namespace } = subject;
  const chain = await readChain(reader, subject);
  const account = await readAccount(reader, chain[0], namespace);
  const users = subject.kind === "ServiceAccount" ? await readUsers(reader, subject) : NO_USERS;
  const read = [...chain, ...(account === undefined ? [] : [account])];
  const [first, ...owners] = chain;
  return {
    ...(namespace === undefined ? {} : { namespace }),
    ids: [...read, ...users.workloads, ...users.bindings].map(({ kind, name }) => `${kind}/${name}`),
    uids: new Set(read.flatMap(({ raw }) => textOf(objectOf(raw["metadata"])["uid"]) ?? [])),
    workloads: [...chain, ...users.workloads],
    notes: [
      ...describeFirst(first?.raw ?? {}, nowMs),
      ...owners.map(({ kind, name }) => `It belongs to ${kind}/${name}.`),
      ...(account === undefined ? [] : [describeAccount(account, nowMs)]),
      ...users.notes,
      ...[...read, ...users.workloads]
        .filter(({ skip }) => skip)
        .map(({ kind, name }) => `The operator does not act on ${kind}/${name}: annotation ${SKIP_ANNOTATION}.`),
    ],
  };
}

interface Found extends Named {
  readonly raw: JsonObject;
  readonly skip: boolean;
}

function foundIn(kind: string, name: string, raw: JsonObject): Found {
  const { labels, annotations } = objectOf(raw["metadata"]);
  return { kind, name, raw, labels: textsOf(labels), skip: textsOf(annotations)[SKIP_ANNOTATION] === "true" };
}

/** An owner that cannot be read is still known by name. */
async function readChain(reader: PartialReader, subject: Subject): Promise<Found[]> {
  const chain: Found[] = [];
  let next: { kind: string; name: string } | undefined = subject;
  while (next !== undefined && chain.length <= MOST_OWNERS) {
    const { kind, name }: { kind: string; name: string } = next;
    const resource = KIND_RESOURCES[kind];
    const raw = resource && (await reader.get(resource, { namespace: subject.namespace, name }));
    if (raw === null && chain.length === 0) throw new CliError(`${describeSubject(subject)} does not exist`);
    chain.push(foundIn(kind, name, raw ?? {}));
    next = controllerOf(raw ?? {});
  }
  return chain;
}

/** Returns the controlling owner of an object, as kind and name. */
function controllerOf(raw: JsonObject): { kind: string; name: string } | undefined {
  const owners = arrayOf(objectOf(raw["metadata"])["ownerReferences"]).map(objectOf);
  const owner = owners.find(({ controller }) => controller === true);
  const [kind, name] = [textOf(owner?.["kind"]), textOf(owner?.["name"])];
  return kind === undefined || name === undefined ? undefined : { kind, name };
}

async function readAccount(reader: PartialReader, pod: Found | undefined, namespace: string | undefined) {
  if (pod?.kind !== "Pod") return undefined;
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
    .filter(({ subjects }) =>
      subjects.some(one => one.kind === "ServiceAccount" && one.name === account && one.namespace === namespace),
    );
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
