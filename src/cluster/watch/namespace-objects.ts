import { ForbiddenError } from "../../core/errors";
import { KINDS } from "../../core/kinds";
import type { NamespaceView } from "../../core/views";
import { namespaceView } from "../read/views";
import { type Delta, isChange } from "./view-cache";
import { Watch, type WatchContext } from "./watch";
import type { Supervised } from "./watch-ages";

/** Without the permission to list Namespaces, they are not asked for again for this time. */
const FORBIDDEN_MS = 600_000;

/**
 * The watch of all Namespaces, from the first read until the operator stops. Without the permission to list them it ends, since an operator
 * with permissions in some namespaces only never gets it.
 */
export class NamespaceObjects {
  readonly #context: WatchContext;
  readonly #listeners: ((name: string) => void)[] = [];
  readonly #reportSkip: (name: string) => void;
  #watch: Watch<NamespaceView> | null = null;
  #forbidden: { readonly atMs: number; readonly error: ForbiddenError } | null = null;

  /** @param reportSkip called with each Namespace that gets or loses the skip annotation */
  constructor(context: WatchContext, reportSkip: (name: string) => void) {
    this.#context = context;
    this.#reportSkip = reportSkip;
  }

  onChange(listener: (name: string) => void): void {
    this.#listeners.push(listener);
  }

  /** @throws ForbiddenError if the API server refused the list in the last minutes */
  watch(): Watch<NamespaceView> {
    const { atMs, error } = this.#forbidden ?? { atMs: -Infinity };
    if (error !== undefined && this.#context.clock.monotonicMs() - atMs < FORBIDDEN_MS) throw error;
    if (this.#watch !== null) return this.#watch;
    let isListed = false;
    this.#watch = new Watch(this.#context, {
      ...{ resource: KINDS.Namespace, project: namespaceView, onDelta: this.#onDelta.bind(this) },
      onListed: () => void (isListed = true),
      isLast: ({ reason }) => reason === "forbidden" && !isListed && this.#logForbidden(),
    });
    this.#watch.start();
    return this.#watch;
  }

  /** Ends the watch if it fails for lack of the permission to list. */
  endForbidden(): Promise<void> | undefined {
    try {
      this.#watch?.views();
      return undefined;
    } catch (error) {
      if (!(error instanceof ForbiddenError)) return undefined;
      this.#forbidden = { atMs: this.#context.clock.monotonicMs(), error };
      return this.stop();
    }
  }

  async stop(): Promise<void> {
    const watch = this.#watch;
    this.#watch = null;
    await watch?.stop();
  }

  all(): readonly Supervised[] {
    return this.#watch === null ? [] : [{ plural: KINDS.Namespace.plural, watch: this.#watch }];
  }

  #logForbidden(): true {
    this.#context.log.info({}, "may not list namespaces: their annotations and labels are not known");
    return true;
  }

  #onDelta(delta: Delta<NamespaceView>): void {
    const name = (delta.after ?? delta.before)?.name;
    if (name === undefined || !isChange(delta)) return;
    if (isSkipped(delta.before) !== isSkipped(delta.after)) this.#reportSkip(name);
    for (const listener of this.#listeners) listener(name);
  }
}

function isSkipped(view: NamespaceView | null): boolean {
  return view?.skip === true;
}
