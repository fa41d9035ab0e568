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
