import type { CoreV1Event } from "@kubernetes/client-node";
import { CLUSTER_KIND, GROUP, MANAGER } from "../../../api/names";
import { CORE_EVENTS } from "../../../cluster/http/resources";
import { podView } from "../../../cluster/read/pod-view";
import { present, type Received } from "../../../cluster/read/received";
import { bindingView, leaseView, namespaceView, ownView, serviceAccountView } from "../../../cluster/read/views";
import { workloadView } from "../../../cluster/read/workload-views";
import { type JsonObject, objectOf, textOf, timeOf } from "../../../core/json";
import { type Kind, KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import type { LeaseView } from "../../../core/leases";
import { OPERATOR_NAMESPACE, type PartialReader } from "../reader";
import type { Session } from "../session";
import { type AuditFacts, coverageIn, type Lists, type TokenFailure } from "./facts";
import { readKinds } from "./kinds";
import { readStaleLeases } from "./leases";
import { countRefused, readLogs } from "./logs";

/** What to audit. */
export interface Scope {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly logs: boolean;
}

/** Reads what an audit judges by. Reads that are refused are noted, and the others go on. */
export async function readFacts(session: Session, reader: PartialReader, scope: Scope): Promise<AuditFacts> {
  const { namespace, logs } = scope;
  const listLeases = (): Promise<LeaseView[] | undefined> => reader.list(KINDS.Lease, leaseView, { namespace });
  const [lists, pods, leases, tokenFailures] = await Promise.all([
    readLists(session, reader, namespace),
    reader.list(KINDS.Pod, podView, { namespace }),
    listLeases(),
    reader.list(CORE_EVENTS, tokenFailure, { namespace, fieldSelector: "reason=FailedMount" }),
  ]);
  const nowMs = session.clock.now().getTime();
  const coverage = coverageIn(lists, namespace);
  const isAsked = lists.objects?.some(({ status }) => (status?.bindings ?? []).length > 0) === true;
  const leads = isAsked && leases !== undefined ? await readLeads(reader, leases, namespace) : undefined;
  const known: AuditFacts = { nowMs, leads, ...lists, ...present({ pods, tokenFailures, coverage }) };
  const reading = logs ? readLogs(session, known, reader.unread) : undefined;
  const [staleLeases, overdue, found, refused] = await Promise.all([
    readStaleLeases(session, listLeases, leases, known),
    readKinds(session, reader, namespace),
    reading,
    // Of the whole cluster, not of one namespace.
    namespace === undefined && reading ? countRefused(session, reader.unread, reading) : undefined,
  ]);
  return { ...known, staleLeases, overdue, ...(found && { logs: found }), refused };
}

/** Whether a replica of the operator leads, by its Lease, in whatever namespace it is. In one namespace, that it has none elsewhere is not known. */
async function readLeads(
  reader: PartialReader,
  leases: readonly LeaseView[],
  only: string | undefined,
): Promise<boolean | undefined> {
  const { namespace = OPERATOR_NAMESPACE } = leases.find(({ name }) => name === MANAGER) ?? {};
  const state = await reader.operator(namespace);
  return only !== undefined && state?.renewTime === undefined ? undefined : state?.leads;
}

/** Lists what the operator decides by which workloads to protect. */
export async function readLists(
  session: Session,
  reader: PartialReader,
  namespace?: string,
): Promise<Lists & Pick<AuditFacts, "hasAllBindings">> {
  const list = <T>(kind: Kind, view: (raw: JsonObject) => T | null): Promise<T[] | undefined> =>
    reader.list(kind, view, { namespace });
  const [namespaces, accounts, { objects, clusterObjects }, bindings, workloads] = await Promise.all([
    reader.list(KINDS.Namespace, namespaceView, { fieldSelector: namespace && `metadata.name=${namespace}` }),
    list(KINDS.ServiceAccount, serviceAccountView),
    readOwn(session, reader, namespace),
    Promise.all([
      list(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw)),
      list(KINDS.ClusterRoleBinding, raw => bindingView("ClusterRoleBinding", raw)),
    ]),
    Promise.all(WORKLOAD_KINDS.map(kind => list(KINDS[kind], raw => workloadView(kind, raw)))),
  ]);
  return {
    ...present({ namespaces, accounts, bindings: joined(bindings), workloads: joined(workloads) }),
    ...present({ objects, clusterObjects }),
    hasAllBindings: !bindings.includes(undefined),
    isWhole: ![namespaces, accounts, objects, clusterObjects, ...bindings, ...workloads].includes(undefined),
  };
}

/** Joins lists; undefined if none could be read. */
function joined<T>(lists: readonly (readonly T[] | undefined)[]): T[] | undefined {
  return lists.some(one => one) ? lists.flatMap(one => one ?? []) : undefined;
}

/** There are no objects of the operator if it is not installed. */
async function readOwn(
  session: Session,
  reader: PartialReader,
  namespace?: string,
): Promise<Pick<Lists, "objects" | "clusterObjects">> {
  const versions = await reader.tolerant(`get apis/${GROUP}`, () => session.servedVersions());
  if (versions?.length === 0) return { objects: [], clusterObjects: [] };
  const clusterObjects = await reader.list(KINDS[CLUSTER_KIND], raw => ownView(CLUSTER_KIND, raw)?.object ?? null);
  return present({ objects: await reader.objects(namespace), clusterObjects });
}

/** What the kubelet says if it gets no token for a new pod, or none for a pod whose token has expired. */
const NO_TOKEN = /failed to fetch token: | expired and refresh failed: /;

/** Returns null for an Event about anything else. */
function tokenFailure(raw: JsonObject): TokenFailure | null {
  const event = raw as Received<CoreV1Event>;
  const { kind, uid } = objectOf(event.involvedObject) as Received<CoreV1Event>["involvedObject"] & {};
  const message = textOf(event.message) ?? "";
  const times = [
    event.lastTimestamp,
    event.series?.lastObservedTime,
    event.eventTime,
    event.metadata?.creationTimestamp,
  ];
  const lastMs = times.map(timeOf).find(ms => ms !== undefined);
  if (kind !== "Pod" || !uid || lastMs === undefined || !NO_TOKEN.test(message)) return null;
  return { podUID: uid, lastMs, isDenied: /is forbidden|denied/.test(message) };
}
