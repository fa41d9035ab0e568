import type { Report, Sight } from "./sight";

/** What must not last long, while nothing happens that explains it. */
export class Lasting {
  readonly #since = new Map<string, { readonly sinceMs: number; isTold: boolean }>();
  readonly #seen = new Set<string>();

  /** Reported once, as a broken promise of this number, when it lasts for longer than `mostMs`. */
  constructor(
    private readonly sight: Sight,
    private readonly report: Report,
    private readonly limits: { readonly promise: number; readonly mostMs: number },
  ) {}

  /** It is so now; `calmMs` is how long nothing has happened that explains it. */
  note(key: string, sentence: string, calmMs: number): void {
    this.#seen.add(key);
    const nowMs = this.sight.clock.monotonicMs();
    const known = this.#since.get(key) ?? { sinceMs: nowMs, isTold: false };
    this.#since.set(key, known);
    const lastedMs = Math.min(nowMs - known.sinceMs, calmMs);
    if (known.isTold || lastedMs < this.limits.mostMs) return;
    known.isTold = true;
    this.report(this.limits.promise, `${sentence}, for ${Math.round(lastedMs / 60_000)} minutes`);
  }

  /** Ends a look: what was not noted in it is over. */
  forget(): void {
    for (const key of this.#since.keys()) if (!this.#seen.has(key)) this.#since.delete(key);
    this.#seen.clear();
  }
}

/** A write that was sent before a change of an object or of an annotation may still arrive for so long, in milliseconds. */
export const ON_ITS_WAY_MS = 45_000;

/** What is so now, or was so when a write that arrives now may have been sent. */
export class Lately {
  readonly #lastMs = new Map<string, number>();

  /** Looks itself once in a while. */
  constructor(
    private readonly sight: Sight,
    private readonly now: () => Iterable<string>,
  ) {
    sight.clock.every(10_000, () => this.#look());
  }

  has(key: string): boolean {
    this.#look();
    return this.sight.clock.monotonicMs() - (this.#lastMs.get(key) ?? -Infinity) <= ON_ITS_WAY_MS;
  }

  #look(): void {
    for (const key of this.now()) this.#lastMs.set(key, this.sight.clock.monotonicMs());
  }
}
