import type { CoreV1Event, V1LabelSelector, V1ObjectMeta, V1PodDisruptionBudget } from "@kubernetes/client-node";
import type { LabelSelector } from "../../../api/controller-resilience";
import { CLUSTER_KIND, KIND } from "../../../api/names";
import { CORE_EVENTS } from "../../../cluster/http/resources";
import { pause } from "../../../cluster/http/retry";
import { podView } from "../../../cluster/read/pod-view";
import { itemsOf, present, type Received } from "../../../cluster/read/received";
import { bindingView, leaseView, namespaceView, ownView, serviceAccountView } from "../../../cluster/read/views";
import { workloadView } from "../../../cluster/read/workload-views";
import { systemClock } from "../../../cluster/system";
import { GoneError, ResilienceError, UnauthorizedError } from "../../../core/errors";
import { type JsonObject, numberOf, objectOf, textOf, textsOf, timeOf } from "../../../core/json";
import { type Kind, KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import type { LeaseView } from "../../../core/leases";
import type { WorkloadView } from "../../../core/views";
import type { Session } from "../session";
import { safeText } from "../terminal";
import { durationOf, suspiciousLeases } from "./checks/controllers";
import {
  type AuditFacts,
  type BudgetFacts,
  coverageIn,
  type Lister,
  type Lists,
  type TokenFailure,
  type Unread,
  type WorkloadFacts,
} from "./facts";
import { readKinds } from "./kinds";
import { readLogs } from "./logs";

/** What to audit. */
export interface Scope {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly logs: boolean;
}

const BUDGETS: Kind = { group: "policy", version: "v1", plural: "poddisruptionbudgets" };

/** Leases of nodes and API servers have no pod as holder. */
const NODE_LEASES = "kube-node-lease";

/** A Lease is watched for its duration, but no longer than this. */
const LONGEST_WATCH_MS = 20_000;

/** Reads what an audit judges by. Reads that are refused are noted, and the others go on. */
export class AuditReader {
  readonly unread: Unread[] = [];
  readonly #session: Session;
  readonly #scope: Scope;

  constructor(session: Session, scope: Scope) {
    this.#session = session;
    this.#scope = scope;
  }

  async read(): Promise<AuditFacts> {
    const list: Lister = (...read) => this.#list(...read);
    const [lists, others] = await Promise.all([
      readLists(this.#session, list, this.#scope.namespace),
      this.#readOthers(),
    ]);
    const nowMs = this.#session.clock.now().getTime();
    const coverage = coverageIn(lists, this.#scope.namespace);
    const known: AuditFacts = { nowMs, ...lists, ...others, ...(coverage && { coverage }) };
    const [secondLook, kinds, logs] = await Promise.all([
      this.#lookAgain(known),
      readKinds(this.#session, list),
      this.#scope.logs ? readLogs(this.#session, known, this.unread) : undefined,
    ]);
    return { ...known, kinds, ...(secondLook && { secondLook }), ...(logs && { logs }) };
  }

  async #readOthers() {
    const [pods, leases, budgets, tokenFailures] = await Promise.all([
      this.#list(KINDS.Pod, podView, "OldToken, StaleLease, logs"),
      this.#list(KINDS.Lease, leaseView, "StaleLease"),
      this.#list(BUDGETS, budgetFacts, "NeverEvictable"),
      this.#list(CORE_EVENTS, tokenFailure, "FailedToken", "reason=FailedMount"),
    ]);
    const held = leases?.filter(({ namespace }) => namespace !== NODE_LEASES);
    return present({ pods, leases: held, budgets, tokenFailures });
  }

  /** Reads the suspicious Leases again, after the longest of their durations. */
  async #lookAgain(facts: AuditFacts): Promise<AuditFacts["secondLook"]> {
    const suspicious = suspiciousLeases(facts);
    if (suspicious.length === 0) return undefined;
    const afterMs = Math.min(LONGEST_WATCH_MS, Math.max(...suspicious.map(durationOf)));
    this.#session.progress.step(`watch suspicious Leases for ${Math.ceil(afterMs / 1000)} s`, suspicious.length);
    const sinceMs = systemClock.monotonicMs();
    await pause(systemClock, afterMs, new AbortController().signal);
    const leases: LeaseView[] | undefined = await this.#list(KINDS.Lease, leaseView, "StaleLease");
    return leases && { leases, afterMs: systemClock.monotonicMs() - sinceMs };
  }

  /** Lists a kind in the scope's namespace, or in all; undefined, and noted, if that was refused or has failed. */
  async #list<T>(
    resource: Kind,
    view: (raw: JsonObject) => T | null,
    unknown: string,
    fieldSelector?: string,
  ): Promise<T[] | undefined> {
    try {
      return (await this.#session.list(placed(resource, this.#scope.namespace, fieldSelector), view)).filter(
        item => item !== null,
      );
    } catch (error) {
      // Without a cluster, or with credentials that it does not accept, nothing else can be read either.
      if (!(error instanceof ResilienceError) || error instanceof UnauthorizedError || isUnreachable(error))
        throw error;
      this.unread.push({ what: `list ${resource.plural}`, why: shortOf(error), unknown });
      return undefined;
    }
  }
}

function isUnreachable({ cause }: Error): boolean {
  return cause !== undefined;
}

function shortOf(error: ResilienceError): string {
  if (error instanceof GoneError) return "the API server does not serve them";
  return safeText(error.message.replace(/^[^:]*: /, ""));
}

/** Returns the request for a list in one namespace, or in all. */
export function placed(
  resource: Kind,
  namespace: string | undefined,
  fieldSelector: string | undefined,
): Parameters<Session["list"]>[0] {
  const isPlaced = namespace !== undefined && resource.isClusterScoped !== true;
  return { resource, fieldSelector, ...(isPlaced && { place: { namespace } }) };
}

/** Lists what the operator decides by which workloads to protect. */
export async function readLists(
  session: Session,
  list: Lister,
  namespace?: string,
): Promise<Lists & Pick<AuditFacts, "hasAllBindings">> {
  // There are no objects of the operator if it is not installed.
  const versions = await session.servedVersions().catch(() => []);
  const ours: Lister = (...read) => (versions.length === 0 ? Promise.resolve(undefined) : list(...read));
  const [namespaces, accounts, roleBindings, clusterRoleBindings, objects, clusterObjects, ...workloads] =
    await Promise.all([
      list(KINDS.Namespace, namespaceView, "Unprotected", namespace && `metadata.name=${namespace}`),
      list(KINDS.ServiceAccount, serviceAccountView, "OldToken, RecreatedByHook, Unprotected"),
      list(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw), "ExpiringBinding, Unprotected"),
      list(KINDS.ClusterRoleBinding, raw => bindingView("ClusterRoleBinding", raw), "ExpiringBinding, Unprotected"),
      ours(KINDS[KIND], raw => ownView(KIND, raw)?.object ?? null, "Unprotected"),
      ours(KINDS[CLUSTER_KIND], raw => ownView(CLUSTER_KIND, raw)?.object ?? null, "Unprotected"),
      ...WORKLOAD_KINDS.map(kind => list(KINDS[kind], raw => workloadFacts(kind, raw), `checks of ${kind}s`)),
    ]);
  const bindings = roleBindings ?? clusterRoleBindings;
  return {
    ...present({ namespaces, accounts }),
    ...(bindings && { bindings: [...(roleBindings ?? []), ...(clusterRoleBindings ?? [])] }),
    hasAllBindings: roleBindings !== undefined && clusterRoleBindings !== undefined,
    ...(workloads.some(found => found) && { workloads: workloads.flatMap(found => found ?? []) }),
    ...{ objects: objects ?? [], clusterObjects: clusterObjects ?? [] },
  };
}

// Facts that the operator does not read, from the JSON of the API server.

function metadataOf(raw: JsonObject): Received<V1ObjectMeta> {
  return objectOf(raw["metadata"]);
}

function placeOf(raw: JsonObject): { namespace: string; name: string } {
  const { namespace, name } = metadataOf(raw);
  return { namespace: namespace ?? "", name: name ?? "" };
}

export function workloadFacts(kind: WorkloadView["kind"], raw: JsonObject): WorkloadFacts | null {
  const view = workloadView(kind, raw);
  if (view === null) return null;
  const template = objectOf(objectOf(raw["spec"])["template"]);
  const podLabels = textsOf(objectOf(template["metadata"])["labels"]);
  return { view, podLabels };
}

export function budgetFacts(raw: JsonObject): BudgetFacts {
  const { spec } = raw as Received<V1PodDisruptionBudget>;
  const selector = spec?.selector;
  return {
    ...placeOf(raw),
    selector: selector ? selectorOf(selector) : null,
    ...present({
      minAvailable: intOrPercent(spec?.minAvailable),
      maxUnavailable: intOrPercent(spec?.maxUnavailable),
    }),
  };
}

/** What the kubelet says if it gets no token for a new pod, or none for a pod whose token has expired. */
const NO_TOKEN = /failed to fetch token: | expired and refresh failed: /;

/** Returns null for an Event about anything else. */
export function tokenFailure(raw: JsonObject): TokenFailure | null {
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

function intOrPercent(value: unknown): number | string | undefined {
  return numberOf(value) ?? textOf(value);
}

function selectorOf(selector: Received<V1LabelSelector> | null | undefined): LabelSelector {
  const matchExpressions = itemsOf(selector?.matchExpressions).map(({ key = "", operator, values }) => ({
    key: key ?? "",
    operator: operator as "In",
    values: [...(values ?? [])],
  }));
  return { matchLabels: textsOf(selector?.matchLabels), matchExpressions };
}
