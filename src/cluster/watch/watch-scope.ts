import type { Cancel, Clock } from "../../core/clock";
import type { Scope } from "./kind-watches";

/**
 * With more watched namespaces than this, one watch of all namespaces replaces theirs. Each namespace needs four to six connections, so this
 * number needs about 100, with some 100 KiB each. The watch of all namespaces also holds what is in the others, about 1 KiB per object.
 */
const MOST_SEPARATE = 20;

/** With at most this many, each namespace gets its own watches again. */
const FEW = 10;

/** The number must stay that low for this time. */
const GRACE_MS = 60_000;

/** Decides whether namespaces are watched together. */
export class WatchScope {
  readonly #clock: Pick<Clock, "after">;
  readonly #apply: (scope: Scope) => void;
  #scope: Scope = "each";
  #cancel: Cancel | null = null;

  constructor(clock: Pick<Clock, "after">, apply: (scope: Scope) => void) {
    this.#clock = clock;
    this.#apply = apply;
  }

  /** @param isAsked all namespaces are read */
  update(namespaces: number, isAsked: boolean): void {
    if (isAsked || namespaces > MOST_SEPARATE) this.#set("all");
    else if (namespaces === 0) this.#set("each");
    else if (namespaces > FEW) this.stop();
    else if (this.#scope === "all") this.#cancel ??= this.#clock.after(GRACE_MS, () => this.#set("each"));
  }

  /** Leaves no timer. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #set(scope: Scope): void {
    this.stop();
    if (scope === this.#scope) return;
    this.#scope = scope;
    this.#apply(scope);
  }
}
