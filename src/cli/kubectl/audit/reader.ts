import { CLUSTER_KIND, KIND } from "../../../api/names";
import { CORE_EVENTS } from "../../../cluster/http/resources";
import { pause } from "../../../cluster/http/retry";
import { podView } from "../../../cluster/read/pod-view";
import { present } from "../../../cluster/read/received";
import {
  bindingView,
  clusterObjectOfOursView,
  leaseView,
  namespaceView,
  objectView,
  serviceAccountView,
} from "../../../cluster/read/views";
import { systemClock } from "../../../cluster/system";
import { GoneError, ResilienceError, UnauthorizedError } from "../../../core/errors";
import type { JsonObject } from "../../../core/json";
import { type Kind, KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import type { LeaseView } from "../../../core/leases";
import type { Session } from "../session";
import { safeText } from "../terminal";
import { durationOf, suspiciousLeases } from "./checks/controllers";
import { type AuditFacts, coverageIn, type Lists, type Unread } from "./facts";
import { readLogs } from "./logs";
import { budgetFacts, flowFacts, tokenFailure, workloadFacts } from "./views";

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
    const [secondLook, logs] = await Promise.all([
      this.#lookAgain(known),
      this.#scope.logs ? readLogs(this.#session, known, this.unread) : undefined,
    ]);
    return { ...known, ...(secondLook && { secondLook }), ...(logs && { logs }) };
  }

  async #readOthers() {
    const [pods, leases, budgets, tokenFailures, flows] = await Promise.all([
      this.#list(KINDS.Pod, podView, "OldToken, StaleLease, KeepToken, logs"),
      this.#list(KINDS.Lease, leaseView, "StaleLease"),
      this.#list(BUDGETS, budgetFacts, "NeverEvictable"),
      this.#list(CORE_EVENTS, tokenFailure, "FailedToken", "reason=FailedMount"),
      this.#list(KINDS.FlowSchema, flowFacts, "NoFlow"),
    ]);
    const held = leases?.filter(({ namespace }) => namespace !== NODE_LEASES);
    return present({ pods, leases: held, budgets, tokenFailures, flows });
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

/** Lists a kind; undefined if that was refused. @param unknown what is unknown without it */
export type Lister = <T>(
  resource: Kind,
  view: (raw: JsonObject) => T | null,
  unknown: string,
  fieldSelector?: string,
) => Promise<T[] | undefined>;

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
      list(KINDS.Namespace, namespaceView, "Unprotected, NoFlow", namespace && `metadata.name=${namespace}`),
      list(KINDS.ServiceAccount, serviceAccountView, "OldToken, RecreatedByHook, Unprotected, NoFlow"),
      list(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw), "ExpiringBinding, Unprotected, NoFlow"),
      list(KINDS.ClusterRoleBinding, raw => bindingView("ClusterRoleBinding", raw), "ExpiringBinding, Unprotected"),
      ours(KINDS[KIND], raw => objectView(raw)?.object ?? null, "Unprotected"),
      ours(KINDS[CLUSTER_KIND], raw => clusterObjectOfOursView(raw)?.object ?? null, "Unprotected"),
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
