import type { Clock } from "../../core/clock";
import type { Intent, Outcome } from "../../core/intent";

/** Corrections of one object within this time count as one contest. */
const CONTEST_MS = 600_000;

/** So many corrections are made at once: a person who tries things out gives up sooner than a program. */
const FREE = 3;

interface Contest {
  readonly count: number;
  readonly lastMs: number;
}

/** Objects that another writer changes back again and again: each further correction waits twice as long, ten minutes at most. */
export class Contests {
  readonly #clock: Clock;
  readonly #byUid = new Map<string, Contest>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  clear(): void {
    this.#byUid.clear();
  }

  /** Counts a correction that was made. */
  note({ verb, target: { uid } }: Intent): void {
    if (verb !== "patch" || uid === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    for (const [known, { lastMs }] of this.#byUid) if (nowMs - lastMs > 2 * CONTEST_MS) this.#byUid.delete(known);
    const before = this.#byUid.get(uid);
    const isRecent = before !== undefined && nowMs - before.lastMs <= CONTEST_MS;
    this.#byUid.set(uid, { count: isRecent ? before.count + 1 : 1, lastMs: nowMs });
  }

  /** Returns why a correction has to wait; undefined if it does not. */
  objection({ verb, target: { uid = "", namespace = "", name } }: Intent): Outcome | undefined {
    const contest = verb === "patch" ? this.#byUid.get(uid) : undefined;
    if (contest === undefined || contest.count < FREE) return undefined;
    const waitMs = Math.min(CONTEST_MS, 10_000 * 2 ** (contest.count - FREE));
    const retryAfterMs = contest.lastMs + waitMs - this.#clock.monotonicMs();
    if (retryAfterMs <= 0) return undefined;
    const message = `another writer changes ControllerResilience ${namespace}/${name} back again and again; change the ClusterControllerResilience instead`;
    return { result: "Blocked", message, retryAfterMs };
  }
}
