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

/** A rollout of a template. One is stuck that replaces no pods, or whose trial ended without proof while a pod is missing. */
interface Rollout {
  readonly workload: string;
  readonly stage: "Trial" | "Rolling" | "Stuck";
}

/**
 * The rollouts of changed templates in the status of all objects: one at a time in the cluster. One that is stuck holds up no other; two may have
 * a common cause, such as a registry or a webhook that is down, and hold up every trial.
 */
export class Rollouts {
  readonly #clock: Clock;
  readonly #recorded = new Map<Key, readonly Rollout[]>();
  readonly #begun = new Map<Key, Rollout & { readonly atMs: number }>();

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
    const open = entries.flatMap(one => rolloutOf(one) ?? []);
    if (open.length === 0) this.#recorded.delete(key);
    else this.#recorded.set(key, open);
    const begun = this.#begun.get(key);
    const before = begun?.stage === "Rolling" ? ["Planned", "Trial"] : ["Planned"];
    const isBefore = ({ name, outcome }: DaemonSetStatus): boolean =>
      begun?.workload === `DaemonSet/${name}` && before.includes(outcome);
    if (!entries.some(isBefore)) this.#begun.delete(key);
  }

  /** The template is being written. @returns takes that back, if it certainly was not */
  begun(object: ControllerResilience, { workload, goesOn }: RolloutClaim): () => void {
    const key = keyOf(object);
    const before = this.#begun.get(key);
    // Tries that fail again and again hold the others back no longer than one.
    const atMs = before?.workload === workload ? before.atMs : this.#clock.monotonicMs();
    this.#begun.set(key, { workload, stage: goesOn ? "Rolling" : "Trial", atMs });
    return () => void (before === undefined ? this.#begun.delete(key) : this.#begun.set(key, before));
  }

  /**
   * A changed template waits for the rollout of every other workload, and for a new leader to know of them. What goes on waits for no trial, which
   * may last a day, so no two wait for each other; and not for what is stuck.
   */
  deferral(object: ControllerResilience, claim: RolloutClaim, warmup: LeaderWarmup): Deferral | undefined {
    if (!warmup.isComplete()) return limited("LeaderWarmup", RECHECK_MS);
    const sinceMs = this.#clock.monotonicMs() - UNRECORDED_MS;
    const begun = [...this.#begun].filter(([, { atMs }]) => atMs >= sinceMs);
    const recorded = [...this.#recorded].flatMap(([key, rollouts]) => rollouts.map(one => [key, one] as const));
    const others = [...recorded, ...begun]
      .filter(([key, { workload }]) => key !== keyOf(object) || workload !== claim.workload)
      .map(([key, { workload, stage }]) => ({ stage, name: `${workload} by ${key}` }));
    const [first, second] = claim.goesOn ? [] : others.filter(({ stage }) => stage === "Stuck");
    const other = others.find(({ stage }) => stage === "Rolling" || (stage === "Trial" && !claim.goesOn)) ?? second;
    if (other === undefined) return undefined;
    const detail =
      other === second
        ? `waiting because two rollouts are stuck, of ${first?.name} and of ${second.name}, which may have a common cause; make their pods Ready, or take one of them out of its targets`
        : `waiting for the rollout of ${other.name}; the operator rolls out one template at a time`;
    return limited("Rollout", RECHECK_MS, detail);
  }
}

function rolloutOf({ name, outcome, waitStartTime }: DaemonSetStatus): Rollout | undefined {
  const workload = `DaemonSet/${name}`;
  if (outcome === "Trial") return { workload, stage: outcome };
  if (waitStartTime === undefined) return outcome === "Rolling" ? { workload, stage: outcome } : undefined;
  return outcome === "Rolling" || outcome === "Unproven" ? { workload, stage: "Stuck" } : undefined;
}

/** What an object began that is suspended or only observed does not go on. */
function isRolling(object: ControllerResilience | null, judged: Mode | undefined): boolean {
  if (object === null || object.metadata.deletionTimestamp !== undefined) return false;
  const { suspend, tokenLifetime } = object.spec;
  const mode = judged ?? object.spec.mode;
  return mode === "Enforce" && !suspend && tokenLifetime !== undefined;
}
