import type { Clock } from "../time";
import { INTERVALS_MS, type LogRounds, type RefusalWatch, type RoundsLog } from "../readers";

/** A pass waits this long for its reads. */
const WAIT_MS = 3_000;

/** Reads the logs that are due in `keep`, so that a test needs no passing of time between a read and the pass that looks at it. */
export class ImmediateRounds implements LogRounds {
  readonly #clock: Clock;
  readonly #startedMs = new WeakMap<RoundsLog, number>();
  readonly #reading = new Set<RoundsLog>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the reads, but not for long. */
  async keep(_owner: object, _key: string, logs: readonly RoundsLog[]): Promise<void> {
    const reads = logs.filter(log => this.#isDue(log)).map(log => this.#read(log));
    let cancel = (): void => undefined;
    const timeout = new Promise<void>(resolve => (cancel = this.#clock.after(WAIT_MS, resolve)));
    await Promise.race([Promise.all(reads), timeout]);
    cancel();
  }

  /** Nothing is read on its own. */
  drop(): void {
    return undefined;
  }

  #isDue(log: RoundsLog): boolean {
    const startedMs = this.#startedMs.get(log) ?? -Infinity;
    return !this.#reading.has(log) && startedMs + INTERVALS_MS[log.urgency()] <= this.#clock.monotonicMs();
  }

  async #read(log: RoundsLog): Promise<void> {
    this.#startedMs.set(log, this.#clock.monotonicMs());
    this.#reading.add(log);
    await log.read();
    this.#reading.delete(log);
  }
}

/** API servers whose counters cannot be read. */
export const UNKNOWN_REFUSALS: RefusalWatch = {
  read: () => Promise.resolve(),
  refusedUntilMs: () => Infinity,
};
