import type { Clock } from "../../core/clock";
import type { PodView } from "../../core/views";
import { isRunning } from "./lease-judge";

/** Since when pods have been able to renew a Lease: their node answers, and their containers run. Followed from pass to pass. */
export class AbleTimes {
  /** By uid: when a pod was last seen unable, on the monotonic clock. */
  #unableMs: ReadonlyMap<string, number> = new Map();

  /** Takes the pods of a pass, and forgets all others. */
  follow(pods: readonly PodView[], clock: Clock): void {
    const nowMs = clock.monotonicMs();
    const before = this.#unableMs;
    const last = (pod: PodView): number | undefined => (isRunning(pod) ? before.get(pod.uid) : nowMs);
    this.#unableMs = new Map(pods.flatMap(pod => (last(pod) === undefined ? [] : [[pod.uid, last(pod) ?? nowMs]])));
  }

  /** Time for which a pod has been able, as far as is known. The start of a container shows a pause between two passes. */
  ofMs({ uid, containers }: PodView, clock: Clock): number {
    const seenMs = clock.monotonicMs() - (this.#unableMs.get(uid) ?? -Infinity);
    const running = containers.filter(({ role, running: isRunningNow }) => role !== "init" && isRunningNow);
    const startedMs = Math.max(...running.map(({ startedAtMs = -Infinity }) => startedAtMs));
    return Math.max(0, Math.min(seenMs, clock.now().getTime() - startedMs));
  }
}
