import { isRejected, type ObservedWorkload } from "./observed";

/** A wait is remembered for this long after it was last seen, in milliseconds: a pass on caches may miss the workload for a moment. */
const KEPT_MS = 60_000;

/** When rejected pods and a rollout in progress were first seen together, by the uid of the workload. */
export class RolloutWaits {
  readonly #waits = new Map<string, { readonly sinceMs: number; readonly seenMs: number }>();

  /** Adds that time to the workloads of an object's pass, and soon forgets the other workloads. `nowMs` is wall-clock time. */
  mark(workloads: readonly ObservedWorkload[], nowMs: number): ObservedWorkload[] {
    for (const [uid, { seenMs }] of this.#waits) if (nowMs - seenMs > KEPT_MS) this.#waits.delete(uid);
    return workloads.map(workload => {
      const { uid, rollout } = workload.view;
      if (rollout?.isInProgress !== true || !workload.pods.some(pod => isRejected(pod))) {
        this.#waits.delete(uid);
        return workload;
      }
      const rolloutSinceMs = this.#waits.get(uid)?.sinceMs ?? nowMs;
      this.#waits.set(uid, { sinceMs: rolloutSinceMs, seenMs: nowMs });
      return { ...workload, rolloutSinceMs };
    });
  }
}
