import type { Clock } from "../../core/clock";
import type { Outcome } from "../../core/intent";
import type { PlannedWrite } from "./writes";

/** Writes to one state within this time count as one contest. */
const CONTEST_MS = 600_000;

/** So many writes are made at once, the first one included: a person who tries things out gives up sooner than a program. */
const FREE = 4;

interface Contest {
  readonly count: number;
  readonly lastMs: number;
}

/**
 * Objects that another writer changes back or deletes again and again: each further write waits twice as long, ten minutes at most. A write
 * to another state, as for another workload or another spec of the ClusterControllerResilience, is the operator's own and never waits.
 */
export class Contests {
  readonly #clock: Clock;
  /** By the state that is written. A successor may have another name, so the object itself tells nothing. */
  readonly #byState = new Map<string, Contest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  clear(): void {
    this.#byState.clear();
  }

  /** Counts a write that was made. */
  note({ state }: PlannedWrite): void {
    if (state === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    for (const [known, { lastMs }] of this.#byState) if (nowMs - lastMs > 2 * CONTEST_MS) this.#byState.delete(known);
    const before = this.#byState.get(state);
    const isRecent = before !== undefined && nowMs - before.lastMs <= CONTEST_MS;
    this.#byState.set(state, { count: isRecent ? before.count + 1 : 1, lastMs: nowMs });
  }

  /** Returns why a write has to wait; undefined if it does not. */
  objection({ state = "", intent: { verb, target } }: PlannedWrite): Outcome | undefined {
    const contest = this.#byState.get(state);
    if (contest === undefined || contest.count < FREE) return undefined;
    const waitMs = Math.min(CONTEST_MS, 10_000 * 2 ** (contest.count - FREE));
    const retryAfterMs = contest.lastMs + waitMs - this.#clock.monotonicMs();
    if (retryAfterMs <= 0) return undefined;
    const name = `ControllerResilience ${target.namespace ?? ""}/${target.name}`;
    const what = verb === "create" ? `deletes ${name} again and again` : `changes ${name} back again and again`;
    const message = `another writer ${what}; change the ClusterControllerResilience instead`;
    return { result: "Blocked", message, retryAfterMs };
  }
}
