import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import { CORE_EVENTS, describeCall, type Resource } from "../../../cluster/http/resources";
import {
  bindingView,
  clusterObjectOfOursView,
  namespaceView,
  objectView,
  serviceAccountView,
} from "../../../cluster/read/views";
import { podView } from "../../../cluster/read/pod-view";
import type { ReadersContext } from "../../../cluster/read/readers";
import { SANDBOX_FAILED, sandboxEventView } from "../../../cluster/read/sandbox-events";
import { ForbiddenError, GoneError } from "../../../core/errors";
import type { JsonObject } from "../../../core/json";
import { KINDS, WORKLOAD_KINDS } from "../../../core/kinds";
import { HEALTHY_INTERVAL_MS, type LogRounds, type RoundsLog } from "../../../core/readers";
import type { BindingKind, BindingView, PodView, SandboxEventView } from "../../../core/views";
import type { AuditFacts } from "../audit/facts";
import { workloadFacts } from "../audit/views";
import type { Session } from "../session";

/** What the operator knows of namespaces. */
export type ClusterLists = Required<Pick<AuditFacts, "workloads" | "accounts" | "bindings">> &
  Pick<AuditFacts, "namespaces" | "objects" | "clusterObjects">;

/** Lists what the operator decides by which workloads to protect. A list that was refused is empty, and noted. */
export async function readClusterLists(
  session: Session,
  namespace: string | undefined,
  note: (sentence: string) => void,
): Promise<ClusterLists> {
  const inPlace = namespace === undefined ? {} : { place: { namespace } };
  const some = <T>(resource: Resource, view: (raw: JsonObject) => T | null): Promise<T[] | undefined> =>
    list(session, { resource, ...inPlace }, view, note);
  const all = <T>(resource: Resource, view: (raw: JsonObject) => T | null, only?: string): Promise<T[] | undefined> =>
    list(session, { resource, ...(only && { fieldSelector: `metadata.name=${only}` }) }, view, note);
  const [namespaces, accounts, roleBindings, clusterRoleBindings, objects, clusterObjects, ...workloads] =
    await Promise.all([
      all(KINDS.Namespace, namespaceView, namespace),
      some(KINDS.ServiceAccount, serviceAccountView),
      some(KINDS.RoleBinding, raw => bindingView("RoleBinding", raw)),
      all(KINDS.ClusterRoleBinding, raw => bindingView("ClusterRoleBinding", raw)),
      some(KINDS.ControllerResilience, raw => objectView(raw)?.object ?? null),
      all(KINDS.ClusterControllerResilience, raw => clusterObjectOfOursView(raw)?.object ?? null),
      ...WORKLOAD_KINDS.map(kind => some(KINDS[kind], raw => workloadFacts(kind, raw))),
    ]);
  return {
    ...(namespaces === undefined ? {} : { namespaces }),
    accounts: accounts ?? [],
    bindings: [...(roleBindings ?? []), ...(clusterRoleBindings ?? [])],
    objects: objects ?? [],
    clusterObjects: clusterObjects ?? [],
    workloads: workloads.flatMap(found => found ?? []),
  };
}

/** Returns the lists with a ClusterControllerResilience as if it were applied. */
export function withClusterObject(lists: ClusterLists, object: ClusterControllerResilience): ClusterLists {
  const others = lists.clusterObjects.filter(({ metadata }) => metadata.name !== object.metadata.name);
  return { ...lists, clusterObjects: [...others, object] };
}

async function list<T>(
  session: Session,
  request: Parameters<Session["list"]>[0],
  view: (raw: JsonObject) => T | null,
  note: (sentence: string) => void,
): Promise<T[] | undefined> {
  try {
    return (await session.list(request, view)).filter(item => item !== null);
  } catch (error) {
    // The operator's own kinds may not be installed yet.
    if (error instanceof GoneError) return [];
    if (!(error instanceof ForbiddenError)) throw error;
    note(`${describeCall("list", request.resource, request.place)}: no rights (403)`);
    return undefined;
  }
}

/** Lists once what the operator watches: a plan is made at one moment. */
export class LiveLists implements Pick<ReadersContext["informers"], "pods" | "bindings" | "sandboxEvents"> {
  readonly #session: Session;
  readonly #lists = new Map<string, Promise<unknown>>();

  constructor(session: Session) {
    this.#session = session;
  }

  pods(namespace: string): Promise<readonly PodView[]> {
    return this.#once(`pods ${namespace}`, () => this.#list({ resource: KINDS.Pod, place: { namespace } }, podView));
  }

  bindings(kind: BindingKind, namespace: string): Promise<readonly BindingView[]> {
    const place = kind === "RoleBinding" ? { namespace } : {};
    return this.#once(`${kind} ${place.namespace ?? ""}`, () =>
      this.#list({ resource: KINDS[kind], place }, raw => bindingView(kind, raw)),
    );
  }

  sandboxEvents(): Promise<readonly SandboxEventView[]> {
    const request = { resource: CORE_EVENTS, fieldSelector: `reason=${SANDBOX_FAILED}` };
    return this.#once("events", () => this.#list(request, sandboxEventView));
  }

  async #list<T>(request: Parameters<Session["list"]>[0], view: (raw: object) => T | null): Promise<T[]> {
    return (await this.#session.list(request, view)).filter(item => item !== null);
  }

  #once<T>(key: string, list: () => Promise<T>): Promise<T> {
    const known = (this.#lists.get(key) as Promise<T> | undefined) ?? list();
    this.#lists.set(key, known);
    return known;
  }
}

/** Reads each log once, as soon as it is wanted. */
export class OneRound implements LogRounds {
  readonly #read = new WeakSet<RoundsLog>();
  readonly #onRead: () => void;

  constructor(onRead: () => void) {
    this.#onRead = onRead;
  }

  async keep(_owner: object, _key: string, logs: readonly RoundsLog[]): Promise<void> {
    await Promise.all(
      logs
        .filter(log => !this.#read.has(log))
        .map(async log => {
          this.#read.add(log);
          await log.read();
          this.#onRead();
        }),
    );
  }

  intervalMs(): number {
    return HEALTHY_INTERVAL_MS;
  }

  drop(): void {
    // Nothing is read again.
  }
}
