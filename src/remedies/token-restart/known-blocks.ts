import type { Execution } from "../../core/intent";
import { blockOf } from "./conclude";
import type { Block } from "./facts";

/** Evictions that were refused, by the pod's uid. How long each is to wait is the executor's to say. */
export class KnownBlocks {
  readonly #byPod = new Map<string, Block>();

  /** Takes in what became of a pass's intents. */
  note(outcomes: readonly Execution[], now: Date): void {
    for (const carried of outcomes) {
      const block = blockOf(carried, now);
      if (block !== undefined) this.#byPod.set(block.podUID, block);
    }
  }

  /** Those whose wait is not over; the others are forgotten. `nowMs` is wall-clock time. */
  standing(nowMs: number): Block[] {
    for (const [podUID, { untilMs }] of this.#byPod) if (untilMs <= nowMs) this.#byPod.delete(podUID);
    return [...this.#byPod.values()];
  }
}
