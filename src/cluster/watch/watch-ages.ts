import type { Cancel } from "../../core/clock";
import type { Identified } from "./view-cache";
import type { Watch, WatchContext } from "./watch";

/** A watch whose age is exported. */
export interface Supervised {
  readonly plural: string;
  readonly watch: Pick<Watch<Identified>, "ageMs" | "stop">;
}

const INTERVAL_MS = 10_000;

/** Exports the age of the oldest cache of each resource. */
export class WatchAges {
  readonly #context: Pick<WatchContext, "clock" | "metrics">;
  readonly #watches: () => readonly Supervised[];
  /** Resources with an exported age, which must become 0 when their watches end. */
  readonly #measured: Set<string>;
  #cancel: Cancel;

  /** @param always resources whose age is exported before their first watch */
  constructor(
    context: Pick<WatchContext, "clock" | "metrics">,
    watches: () => readonly Supervised[],
    always: readonly string[],
  ) {
    this.#context = context;
    this.#watches = watches;
    this.#measured = new Set(always);
    this.#cancel = context.clock.after(INTERVAL_MS, () => this.#measure());
  }

  stop(): void {
    this.#cancel();
  }

  #measure(): void {
    const { clock, metrics } = this.#context;
    const watched = this.#watches();
    for (const { plural } of watched) this.#measured.add(plural);
    for (const plural of this.#measured) {
      const ages = watched.filter(one => one.plural === plural).map(({ watch }) => watch.ageMs());
      metrics.watchAge(plural, Math.max(0, ...ages) / 1000);
    }
    this.#cancel = clock.after(INTERVAL_MS, () => this.#measure());
  }
}
