import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import { CORE_EVENTS, describeCall } from "../../../cluster/http/resources";
import { podView } from "../../../cluster/read/pod-view";
import type { ReadersContext } from "../../../cluster/read/readers";
import { SANDBOX_FAILED, sandboxEventView } from "../../../cluster/read/sandbox-events";
import { bindingView } from "../../../cluster/read/views";
import { ForbiddenError } from "../../../core/errors";
import { KINDS } from "../../../core/kinds";
import { HEALTHY_INTERVAL_MS, type LogRounds, type RoundsLog } from "../../../core/readers";
import type { BindingKind, BindingView, PodView, SandboxEventView } from "../../../core/views";
import type { Lists } from "../audit/facts";
import { type Lister, placed, readLists } from "../audit/reader";
import type { Session } from "../session";

/** Lists what the operator decides by which workloads to protect. What was refused is noted, and counts as empty. */
export async function readClusterLists(
  session: Session,
  namespace: string | undefined,
  note: (sentence: string) => void,
): Promise<Lists> {
  const list: Lister = async (resource, view, _unknown, fieldSelector) => {
    const request = placed(resource, namespace, fieldSelector);
    try {
      return (await session.list(request, view)).filter(item => item !== null);
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      note(`${describeCall("list", resource, request.place)}: no rights (403)`);
      return undefined;
    }
  };
  return { workloads: [], accounts: [], bindings: [], ...(await readLists(session, list, namespace)) };
}

/** Returns the lists with a ClusterControllerResilience as if it were applied. */
export function withClusterObject(lists: Lists, object: ClusterControllerResilience): Lists {
  const others = lists.clusterObjects.filter(({ metadata }) => metadata.name !== object.metadata.name);
  return { ...lists, clusterObjects: [...others, object] };
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
