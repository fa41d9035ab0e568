import type { Sight, Truth } from "./sight";

// What was true of the pods before they were evicted: the request comes when a pod already ends.

/** The truth is noted so often. */
const LOOK_MS = 5_000;

/** The last truth about each container before its pod was asked to end, and when each pod was last dead. */
export class Memory {
  readonly #before = new Map<string, Map<string, Truth>>();
  readonly #deadMs = new Map<string, number>();

  constructor(private readonly sight: Sight) {
    sight.clock.every(LOOK_MS, () => this.#look());
  }

  /** The containers of a pod. */
  before(uid: string): readonly Truth[] {
    return [...(this.#before.get(uid)?.values() ?? [])];
  }

  /** When a restart would last have healed a pod. */
  deadMs(uid: string): number {
    return this.#deadMs.get(uid) ?? -Infinity;
  }

  #look(): void {
    for (const truth of this.sight.truths()) {
      const { uid, container, state } = truth;
      if (truth.healedByRestart || isDeadUnused(truth)) this.#deadMs.set(uid, this.sight.clock.monotonicMs());
      if (state === "terminating") continue;
      const containers = this.#before.get(uid) ?? new Map<string, Truth>();
      this.#before.set(uid, containers.set(container, truth));
    }
  }
}

/**
 * A token that every API server refuses is dead, although its pod does not use it: with 401s of another cluster in the log, which look like its own,
 * the operator cannot know that, and the new pod has a token that works.
 */
export function isDeadUnused({ isTokenDead, logged401Ms }: Truth): boolean {
  return isTokenDead && logged401Ms !== undefined;
}
