import type { UnprovenRejections } from "../../core/intent";
import type { Key } from "../../core/ports";
import { LogWatch } from "../../logs/reading/log-watch";
import { AbleTimes } from "./able-times";
import { LostBindings } from "./lost-bindings";

/** Stale Leases that stopped within this time of each other probably have one cause. */
const SAME_TIME_MS = 300_000;

/** Stale Leases seen within this time count as stale at once, as in tokenRestart. The passes of an object may fail since. */
const AT_ONCE_MS = 300_000;

/** A workload with a stale Lease, and when the Lease was last seen to change. */
export interface StaleWorkload {
  readonly workload: string;
  readonly sinceMs: number;
  /** When a pass last saw that it is stale: wall-clock time. */
  readonly seenMs: number;
}

/** What is remembered of one ControllerResilience between two passes. */
export interface ObjectMemory {
  readonly logs: LogWatch;
  readonly bindings: LostBindings;
  readonly able: AbleTimes;
  workloads: number;
  stale: readonly StaleWorkload[];
}

/** The state of all ControllerResiliences. */
export class Memories {
  readonly #byKey = new Map<Key, ObjectMemory>();

  /** Returns the state of an object. */
  of(key: Key): ObjectMemory {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const added: ObjectMemory = {
      ...{ logs: new LogWatch(key), bindings: new LostBindings() },
      ...{ able: new AbleTimes(), workloads: 0, stale: [] },
    };
    this.#byKey.set(key, added);
    return added;
  }

  /** Counts the workloads with stale Leases over all objects, for the breaker and the canary. */
  rejections(nowMs: number): UnprovenRejections {
    const memories = [...this.#byKey.values()];
    const stale = memories
      .flatMap(memory => memory.stale)
      .filter(({ seenMs }) => nowMs - seenMs < AT_ONCE_MS)
      .toSorted((a, b) => a.sinceMs - b.sinceMs);
    const together = stale.find(({ sinceMs }, i) => (stale[i + 1]?.sinceMs ?? Infinity) - sinceMs <= SAME_TIME_MS);
    return {
      workloads: stale.length,
      watched: memories.reduce((sum, { workloads }) => sum + workloads, 0),
      ...(together === undefined ? {} : { togetherSinceMs: together.sinceMs }),
    };
  }

  /** Reads no logs of an object, and counts nothing of it, until its next pass. */
  pause(key: Key): void {
    const known = this.#byKey.get(key);
    if (known === undefined) return;
    known.logs.pause();
    known.stale = [];
    known.workloads = 0;
  }

  /** Drops the state of an object. */
  forget(key: Key): void {
    this.#byKey.get(key)?.logs.stop();
    this.#byKey.delete(key);
  }
}
