import type { Key } from "../core/ports";
import type { ControllerResilience, DaemonSetStatus } from "../api/controller-resilience";
import type { Clock } from "../core/time";
import { keyOf } from "../core/text";
import type { Deferral, RolloutClaim } from "../core/intent";
import type { Mode } from "../core/remedy";
import { limited, RECHECK_MS } from "./history";

/** Objects requested at a time; callers ask again every few seconds. */
const REQUEST_BATCH = 10;

/**
 * Tracks which objects a new leader still has to load. What holds for the whole cluster, an open restart without proof or a rollout, is in
 * the status of all objects.
 */
export class LeaderWarmup {
  readonly #request: (key: Key) => void;
  /** Objects not loaded yet; undefined until the first list of the term. */
  #missing: Set<Key> | undefined;

  /** `request` enqueues a pass of an object. */
  constructor(request: (key: Key) => void) {
    this.#request = request;
  }

  /** Starts a term of leadership: nothing is loaded. */
  startTerm(): void {
    this.#missing = undefined;
  }

  /** Sets the objects to load. Only the first list of a term counts: objects that appear later have passes in this term. */
  expect(keys: readonly Key[]): void {
    this.#missing ??= new Set(keys);
  }

  /** Marks an object as loaded or deleted. */
  loaded(key: Key): void {
    this.#missing?.delete(key);
  }

  /** Reports whether all objects are loaded. If not, requests some of the missing ones ahead of the full pass. */
  isComplete(): boolean {
    if (this.#missing?.size === 0) return true;
    for (const key of [...(this.#missing ?? [])].slice(0, REQUEST_BATCH)) this.#request(key);
    return false;
  }
}

/** A rollout that was begun counts for this long although status does not show it, as after a write of status that failed. */
const UNRECORDED_MS = 600_000;

/** Reports whether pods are replaced because of a changed template. A planned change may not be made yet. */
export function isRolledOut({ outcome }: Pick<DaemonSetStatus, "outcome">): boolean {
  return outcome === "Trial" || outcome === "Rolling";
}

/** The rollouts of changed templates in the status of all objects: one at a time in the cluster. */
export class Rollouts {
  readonly #clock: Clock;
  /** The workloads by object. */
  readonly #recorded = new Map<Key, readonly string[]>();
  readonly #begun = new Map<Key, { readonly workload: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Starts a term of leadership: the status of every object is read again, and objects may have gone while another process led. */
  startTerm(): void {
    this.#recorded.clear();
  }

  /** Takes note of the status of an object, as read or written; null: it is gone. */
  note(key: Key, object: ControllerResilience | null, mode?: Mode): void {
    const entries = isRolling(object, mode) ? (object?.status?.daemonSets ?? []) : [];
    // One that is stuck replaces no pods.
    const isOpen = (one: DaemonSetStatus): boolean => one.outcome === "Trial" || one.waitStartTime === undefined;
    const open = entries.filter(one => isRolledOut(one) && isOpen(one)).map(({ name }) => `DaemonSet/${name}`);
    if (open.length === 0) this.#recorded.delete(key);
    else this.#recorded.set(key, open);
    const begun = this.#begun.get(key);
    if (begun === undefined) return;
    const isUnrecorded = entries.some(
      ({ name, outcome }) => begun.workload === `DaemonSet/${name}` && outcome === "Planned",
    );
    if (!isUnrecorded) this.#begun.delete(key);
  }

  /** The template is being written. @returns takes that back, if it certainly was not */
  begun(object: ControllerResilience, { workload }: RolloutClaim): () => void {
    const key = keyOf(object);
    const before = this.#begun.get(key);
    // Tries that fail again and again hold the others back no longer than one.
    const atMs = before?.workload === workload ? before.atMs : this.#clock.monotonicMs();
    this.#begun.set(key, { workload, atMs });
    return () => void (before === undefined ? this.#begun.delete(key) : this.#begun.set(key, before));
  }

  /** A changed template waits for the rollout of every other workload, and for a new leader to know of them. */
  deferral(object: ControllerResilience, claim: RolloutClaim, warmup: LeaderWarmup): Deferral | undefined {
    if (!warmup.isComplete()) return limited("LeaderWarmup", RECHECK_MS);
    const sinceMs = this.#clock.monotonicMs() - UNRECORDED_MS;
    const begun = [...this.#begun].filter(([, { atMs }]) => atMs >= sinceMs);
    const recorded = [...this.#recorded].flatMap(([key, workloads]) => workloads.map(one => [key, one] as const));
    const open = [...recorded, ...begun.map(([key, { workload }]) => [key, workload] as const)];
    const other = open.find(([key, workload]) => key !== keyOf(object) || workload !== claim.workload);
    if (other === undefined) return undefined;
    const detail = `waiting for the rollout of ${other[1]} by ${other[0]}; the operator rolls out one template at a time`;
    return limited("Rollout", RECHECK_MS, detail);
  }
}

/** What an object began that is suspended or only observed does not go on. */
function isRolling(object: ControllerResilience | null, judged: Mode | undefined): boolean {
  if (object === null || object.metadata.deletionTimestamp !== undefined) return false;
  const { suspend, tokenLifetime } = object.spec;
  const mode = judged ?? object.spec.mode;
  return mode === "Enforce" && !suspend && tokenLifetime !== undefined;
}
