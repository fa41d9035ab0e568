import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import { ClusterReason, ConditionType } from "../../api/conditions";
import type { StatusCondition } from "../../api/controller-resilience";
import { ALLOW_REMOVAL_ANNOTATION } from "../../api/names";
import type { Clock } from "../../core/time";
import type { NamespaceShare } from "./plan";

/** So many workloads may always lose protection within {@link LATELY_MS}. */
const ALWAYS = 10;

const LATELY_MS = 3_600_000;

type Owner = Pick<ClusterControllerResilience, "metadata" | "status">;

/** What was planned for it in a namespace. */
interface Found {
  readonly namespace: string;
  readonly share?: Pick<NamespaceShare, "lost" | "protected"> | undefined;
}

/**
 * Decides which workloads lose the protection of a ClusterControllerResilience that does not select them any more: a typo in a selector must not
 * end all protection. Within an hour, more than ten, and more than keep it, wait for a person. To delete the ClusterControllerResilience is a
 * person's word.
 */
export class Brake {
  readonly #clock: Clock;
  /** By uid of the ClusterControllerResilience: workloads that may be removed, as `namespace/Deployment/web`. */
  readonly #released = new Map<string, ReadonlySet<string>>();
  /** By uid: when workloads were released without a person's word. Lost with the lead; since when others wait is in status. */
  readonly #lately = new Map<string, { readonly atMs: number; readonly count: number }[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  clear(): void {
    this.#released.clear();
    this.#lately.clear();
  }

  /** Reports whether this workload, which is not selected any more, stays protected. */
  keeps({ metadata: { uid } }: Owner, namespace: string, workload: string): boolean {
    return !this.#isReleased(uid, `${namespace}/${workload}`);
  }

  /** Returns the workloads that wait for a person. @param results of all namespaces */
  waiting(owner: Owner, results: readonly Found[]): string[] {
    const kept = lostIn(results).filter(workload => !this.#isReleased(owner.metadata.uid, workload));
    return isTooMuch(owner, kept.length, results, this.#removedLately(owner)) ? kept : [];
  }

  /** Lets all that is lost go, unless it waits for a person; returns the namespaces concerned. @param results of all namespaces */
  release(owner: Owner, results: readonly Found[]): string[] {
    const { uid } = owner.metadata;
    const lost = lostIn(results);
    const before = new Set(lost.filter(workload => this.#isReleased(uid, workload)));
    this.#released.set(uid, before);
    const count = lost.length - before.size;
    if (count === 0 || this.waiting(owner, results).length > 0) return [];
    if (!isAllowed(owner, count)) this.#note(uid, count);
    this.#released.set(uid, new Set(lost));
    return results.flatMap(({ namespace, share }) => (share?.lost.length ? [namespace] : []));
  }

  #isReleased(uid: string, workload: string): boolean {
    return this.#released.get(uid)?.has(workload) === true;
  }

  #note(uid: string, count: number): void {
    this.#lately.set(uid, [...(this.#lately.get(uid) ?? []), { atMs: this.#clock.monotonicMs(), count }]);
  }

  #removedLately({ metadata: { uid }, status }: Owner): number {
    // Nothing was released since others wait. What was before, another leader may have done.
    const waitingMs = this.#clock.now().getTime() - Date.parse(waitsSince(status?.conditions) ?? "");
    if (waitingMs < LATELY_MS) return Infinity;
    const sinceMs = this.#clock.monotonicMs() - LATELY_MS;
    const lately = (this.#lately.get(uid) ?? []).filter(({ atMs }) => atMs > sinceMs);
    this.#lately.set(uid, lately);
    return lately.reduce((sum, one) => sum + one.count, 0);
  }
}

/** Returns the workloads that are not selected any more and not removed yet, as `namespace/Deployment/web`. */
export function lostIn(results: readonly Found[]): string[] {
  return results.flatMap(({ namespace, share }) => (share?.lost ?? []).map(workload => `${namespace}/${workload}`));
}

/** Reports whether so many workloads stay protected until a person allows to remove them. Ten that wait go on waiting, also when the hour is over. */
export function isTooMuch(owner: Owner, kept: number, results: readonly Found[], removedLately = 0): boolean {
  if (kept === 0 || isAllowed(owner, kept)) return false;
  if (kept >= ALWAYS && waitsSince(owner.status?.conditions) !== undefined) return true;
  const lost = kept + removedLately;
  return lost > ALWAYS && lost > results.reduce((sum, { share }) => sum + (share?.protected ?? 0), 0);
}

/** Returns since when workloads wait, by the condition that says so. */
export function waitsSince(conditions: readonly StatusCondition[] = []): string | undefined {
  return conditions.find(isWaiting)?.lastTransitionTime;
}

/** Reports whether this condition says that workloads wait. */
export function isWaiting({ type, reason }: StatusCondition): boolean {
  return type === ConditionType.Stalled && reason === ClusterReason.RemovalWaits;
}

function isAllowed({ metadata: { annotations = {} }, status }: Owner, kept: number): boolean {
  const [count = "", since] = (annotations[ALLOW_REMOVAL_ANNOTATION] ?? "").split("/");
  return since !== undefined && since === waitsSince(status?.conditions) && Number(count) >= kept;
}

/**
 * Returns the value of the annotation that lets so many workloads go, or fewer.
 *
 * @param since since when they wait, so that the value allows nothing later
 */
export function permission(kept: number, since: string): string {
  return `${kept}/${since}`;
}
