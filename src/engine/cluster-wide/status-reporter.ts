import type {
  ClusterControllerResilience,
  ClusterControllerResilienceStatus,
} from "../../api/cluster-controller-resilience";
import { ClusterReason, ConditionType } from "../../api/conditions";
import type { StatusCondition } from "../../api/controller-resilience";
import { CLUSTER_KIND } from "../../api/names";
import { unfollowedKinds } from "../../core/cluster-wide";
import { ForbiddenError, publicMessage } from "../../core/errors";
import { isSameStatus } from "../../core/status";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/time";
import type { ObjectRef } from "../../core/intent";
import { apiVersionOf, KINDS } from "../../core/kinds";
import type { PassResult } from "../loop/requeue";
import type { Brake } from "./brake";
import type { FactsReader } from "./facts";
import type { ClusterWidePorts, ClusterWideSettings } from "./ports";
import { clusterStatus } from "./report";
import { ALL, type Results } from "./results";

/** What status says without the right to list Namespaces. */
const MAY_NOT_LIST =
  "the operator may not list Namespaces; install it with permissions in all namespaces (value namespaces)";

/** While some namespaces were not looked at yet, status waits for them two seconds before it looks again. */
const LOOK_AGAIN: PassResult = { next: "recheck", afterMs: 2_000 };

interface ReporterSettings extends Pick<ClusterWideSettings, "observes"> {
  /** Called with all namespaces while some of them were not planned for the present generation of an object. */
  readonly onIncomplete: (namespaces: readonly string[]) => void;
  /** Called with namespaces that keep what may be removed now. */
  readonly onReleased: (namespaces: readonly string[]) => void;
  readonly brake: Brake;
}

/** Writes the status of ClusterControllerResiliences. */
export class StatusReporter {
  readonly #ports: Pick<ClusterWidePorts, "caches" | "store" | "readers" | "events" | "metrics">;
  /** Objects whose conditions the metrics show. */
  readonly #shown = new Set<string>();
  readonly #facts: Pick<FactsReader, "namespaces">;
  readonly #results: Results;
  readonly #settings: ReporterSettings;

  constructor(
    ports: Pick<ClusterWidePorts, "caches" | "store" | "readers" | "events" | "metrics">,
    facts: Pick<FactsReader, "namespaces">,
    results: Results,
    settings: ReporterSettings,
  ) {
    this.#ports = ports;
    this.#facts = facts;
    this.#results = results;
    this.#settings = settings;
  }

  /**
   * Returns the watched namespaces; those that passes know if the operator may not list them, or has failed to for so long that the
   * status says so.
   *
   * @throws the error of an earlier failure
   */
  async namespaces(): Promise<string[]> {
    try {
      const names = await this.#facts.namespaces();
      if (names.length === 0) throw new ForbiddenError("found no Namespaces, and no cluster is without");
      this.#results.forget(ALL);
      return names;
    } catch (error) {
      const message =
        error instanceof ForbiddenError ? MAY_NOT_LIST : `Failed to list Namespaces: ${publicMessage(error)}`;
      this.#results.failed(ALL, error, this.#nowMs(), message);
      if (!this.#results.isReported(ALL, this.#nowMs())) throw error;
      return this.#results.names();
    }
  }

  /** Removes the metrics of all objects. */
  clear(): void {
    for (const name of this.#shown) this.#show(name, []);
  }

  /** Writes the status of one object, once every namespace was planned for its present generation. @throws any error of the client */
  async report(name: string, mayWrite: () => boolean): Promise<PassResult> {
    const cached = this.#ports.caches.clusterObjects().find(({ metadata }) => metadata.name === name);
    if (cached === undefined) return this.#forget(name);
    const namespaces = await this.namespaces();
    if (!this.#results.isComplete(cached.metadata, namespaces, this.#nowMs())) {
      this.#settings.onIncomplete(namespaces);
      return LOOK_AGAIN;
    }
    const results = this.#results.of(cached.metadata, namespaces, this.#nowMs());
    this.#settings.onReleased(this.#settings.brake.release(cached, results));
    if (isSameStatus(cached.status, this.#measured(cached, namespaces, mayWrite))) return { next: "recheck" };
    const object = await this.#read(name);
    const { uid, generation } = cached.metadata;
    if (object?.metadata.uid !== uid || object.metadata.deletionTimestamp !== undefined) return { next: "recheck" };
    if (object.metadata.generation !== generation) return LOOK_AGAIN;
    const status = this.#statusOf(object, namespaces);
    if (!isSameStatus(object.status, status) && mayWrite()) await this.#write(object, status);
    return { next: "recheck" };
  }

  #forget(name: string): PassResult {
    this.#show(name, []);
    return { next: "forget" };
  }

  #show(name: string, conditions: readonly StatusCondition[]): void {
    this.#ports.metrics.conditions(`/${name}`, conditions);
    if (conditions.length === 0) this.#shown.delete(name);
    else this.#shown.add(name);
  }

  /** Returns the status that the object should have, and shows conditions and coverage in the metrics: only a leader has any. */
  #measured(
    object: ClusterControllerResilience,
    namespaces: readonly string[],
    mayWrite: () => boolean,
  ): ClusterControllerResilienceStatus {
    const status = this.#statusOf(object, namespaces);
    if (!mayWrite()) return status;
    this.#show(object.metadata.name, status.conditions ?? []);
    const counts = Array.from(this.#results.coverage().counts, ([key, value]) => {
      const [protection = "", reason = ""] = key.split("/");
      return { labels: { protection, reason }, value };
    });
    this.#ports.metrics.show("workloads", counts);
    return status;
  }

  #nowMs(): number {
    return this.#ports.readers.clock.monotonicMs();
  }

  #read(name: string): Promise<ClusterControllerResilience | null> {
    const { store, readers } = this.#ports;
    return withDeadline(readers.clock, STORE_DEADLINE_MS, "reading the object", () => store.get(name));
  }

  async #write(object: ClusterControllerResilience, status: ClusterControllerResilienceStatus): Promise<void> {
    const { store, readers } = this.#ports;
    await withDeadline(readers.clock, STORE_DEADLINE_MS, "writing status", () => store.writeStatus(object, status));
    this.#tell(object, status);
  }

  #statusOf(object: ClusterControllerResilience, namespaces: readonly string[]): ClusterControllerResilienceStatus {
    const results = this.#results.of(object.metadata, namespaces, this.#nowMs());
    const kinds = this.#ports.readers.kindWriters();
    return clusterStatus(object, results, this.#results.coverage(), {
      now: this.#ports.readers.clock.now(),
      observes: this.#settings.observes === true,
      waiting: this.#settings.brake.waiting(object, results),
      unfollowed: kinds && unfollowedKinds(kinds, this.#results.handlers()),
    });
  }

  /** An Event when a person has to act on this object, and when that has ended. A generated object that is Stalled has its own Events. */
  #tell(object: ClusterControllerResilience, { conditions = [] }: ClusterControllerResilienceStatus): void {
    const now = problemIn(conditions);
    const before = problemIn(object.status?.conditions);
    const event = { regarding: refOf(object), action: "Protect" };
    if (now !== undefined && before === undefined) {
      this.#ports.events.record({ ...event, type: "Warning", reason: now.reason, note: now.message });
    } else if (now === undefined && before !== undefined) {
      const note = conditions.find(({ type }) => type === ConditionType.Ready)?.message ?? "";
      this.#ports.events.record({ ...event, type: "Normal", reason: "NoLongerStalled", note });
    }
  }
}

/** Reasons of Stalled that no Event of a generated object tells. */
const OWN: readonly string[] = [ClusterReason.Refused, ClusterReason.RemovalWaits];

function problemIn(conditions: readonly StatusCondition[] = []): StatusCondition | undefined {
  return conditions.find(({ type, reason }) => type === ConditionType.Stalled && OWN.includes(reason));
}

function refOf({ metadata: { name, uid } }: ClusterControllerResilience): ObjectRef {
  return { apiVersion: apiVersionOf(KINDS[CLUSTER_KIND]), kind: CLUSTER_KIND, name, uid };
}
