import type { ControllerResilience, DaemonSetStatus } from "../../api/controller-resilience";
import type { Clock } from "../../core/clock";
import { keyOf } from "../../core/key";
import type { RolloutClaim } from "../../core/intent";
import type { Mode } from "../../core/mode";
import type { Key } from "../../core/ports";
import type { Deferral } from "./checks";
import type { LeaderWarmup } from "./leader-warmup";

/** A rollout that was begun counts for this long although status does not show it, as after a write of status that failed. */
const UNRECORDED_MS = 600_000;

/** Outcomes of status.daemonSets while pods are replaced because of a changed template. */
const OPEN: readonly DaemonSetStatus["outcome"][] = ["Trial", "Rolling", "Stuck"];

/** A rollout of another object. */
export interface OpenRollout extends RolloutClaim {
  readonly key: Key;
}

/** The rollouts of changed templates in the status of all objects: one at a time in the cluster. */
export class Rollouts {
  readonly #clock: Clock;
  /** The workload by object. */
  readonly #recorded = new Map<Key, string>();
  readonly #begun = new Map<Key, { readonly workload: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes note of the status of an object, as read or written; null: it is gone. */
  note(key: Key, object: ControllerResilience | null, mode?: Mode): void {
    const entries = isRolling(object, mode) ? (object?.status?.daemonSets ?? []) : [];
    const open = entries.find(({ outcome }) => OPEN.includes(outcome));
    if (open === undefined) this.#recorded.delete(key);
    else this.#recorded.set(key, `DaemonSet/${open.name}`);
    const begun = this.#begun.get(key);
    if (begun === undefined) return;
    const isUnrecorded = entries.some(
      ({ name, outcome }) => begun.workload === `DaemonSet/${name}` && outcome === "Planned",
    );
    if (!isUnrecorded || this.#clock.monotonicMs() - begun.atMs > UNRECORDED_MS) this.#begun.delete(key);
  }

  /** The template was written, or the answer was lost. */
  begun(object: ControllerResilience, { workload }: RolloutClaim): void {
    this.#begun.set(keyOf(object), { workload, atMs: this.#clock.monotonicMs() });
  }

  /** The rollout that another object must wait for. */
  otherThan(object: ControllerResilience): OpenRollout | undefined {
    const own = keyOf(object);
    const all = new Map([
      ...this.#recorded,
      ...[...this.#begun].map(([key, { workload }]) => [key, workload] as const),
    ]);
    for (const [key, workload] of all) if (key !== own) return { key, workload };
    return undefined;
  }
}

/** What an object began that is suspended or only observed does not go on. */
function isRolling(object: ControllerResilience | null, judged: Mode | undefined): boolean {
  if (object === null || object.metadata.deletionTimestamp !== undefined) return false;
  const { suspend, tokenLifetime } = object.spec;
  const mode = judged ?? object.spec.mode;
  return mode === "Enforce" && !suspend && tokenLifetime !== undefined;
}

/** Time until a rollout that waits is tried again, in milliseconds. */
const RECHECK_MS = 10_000;

/** A changed template waits for the rollout of every other object, and for a new leader to know of them. */
export function rolloutDeferral(
  object: ControllerResilience,
  warmup: LeaderWarmup,
  rollouts: Rollouts,
): Deferral | undefined {
  if (!warmup.isComplete()) {
    return { result: "Limited", limit: "LeaderWarmup", retryAfterMs: RECHECK_MS };
  }
  const other = rollouts.otherThan(object);
  if (other === undefined) return undefined;
  const detail = `waiting for the rollout of ${other.workload} by ${other.key}; the operator rolls out one template at a time`;
  return { result: "Limited", limit: "Rollout", retryAfterMs: RECHECK_MS, detail };
}
