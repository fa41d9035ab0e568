import { isRejected, type ObservedWorkload } from "./observed";

/** When rejected pods and a rollout in progress were first seen together, by the uid of the workload. */
export class RolloutWaits {
  #sinceMs = new Map<string, number>();

  /** Adds that time to the workloads of an object's pass, and forgets the other workloads. `nowMs` is wall-clock time. */
  mark(workloads: readonly ObservedWorkload[], nowMs: number): ObservedWorkload[] {
    const before = this.#sinceMs;
    this.#sinceMs = new Map();
    return workloads.map(workload => {
      const { uid, rollout } = workload.view;
      if (rollout?.isInProgress !== true || !workload.pods.some(pod => isRejected(pod))) return workload;
      const rolloutSinceMs = before.get(uid) ?? nowMs;
      this.#sinceMs.set(uid, rolloutSinceMs);
      return { ...workload, rolloutSinceMs };
    });
  }
}
