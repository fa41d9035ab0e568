import { type ForbiddenError, TransientError } from "../../core/errors";
import { each, inSlices } from "../../core/slices";
import { type Delta, type Identified, isChange } from "./view-cache";
import { type AllCache, Watch, type WatchCache, type WatchContext } from "./watch";
import type { Supervised } from "./watch-ages";
import type { WatchEnd } from "./watch-end";
import type { WatchSubject } from "./watch-subject";

/** One watch over all namespaces, or one per namespace. */
export type Scope = "all" | "each";

/** After a 403, all namespaces are not asked for again for this time. */
const REFUSED_MS = 600_000;

/** A filled watch ends only after 403s for this time: API servers that start may refuse for a moment what they allow. */
const PATIENCE_MS = 60_000;

export type KindSubject<V extends Identified> = Pick<WatchSubject<V>, "resource" | "project">;

export interface KindListener {
  /** Called with a watched namespace when the view of an object in it changes. */
  readonly onChange: (namespace: string) => void;
  /** Called with any namespace when the view of an object in it changes, while all namespaces are watched. */
  readonly onAnyChange?: (namespace: string) => void;
  /** Takes what {@link KindWatches.stop} or its caller must wait for. */
  readonly onStopping: (stopping: Promise<void>) => void;
}

/** A watched namespace. Without its own watch, that of all namespaces serves it. */
interface Member<V extends Identified> {
  own: Watch<V> | null;
  /** The watch of all namespaces serves it. With its own watch as well, only until that is filled. */
  isShared: boolean;
}

/**
 * Watches one kind in some namespaces, each with its own watch or all with one. A namespace changes from one to the other only once the new
 * cache is filled; until then the old one serves. Only the serving cache reports changes, and a change of caches is reported if they differ.
 */
export class KindWatches<V extends Identified & { readonly namespace: string }> {
  readonly #context: WatchContext;
  readonly #subject: KindSubject<V>;
  readonly #listener: KindListener;
  readonly #members = new Map<string, Member<V>>();
  #all: Watch<V> | null = null;
  #scope: Scope = "each";
  #refused: { readonly atMs: number; readonly error: unknown } | null = null;
  /** Since when a filled watch of all namespaces gets only 403s. */
  #refusedSinceMs: number | null = null;

  constructor(context: WatchContext, subject: KindSubject<V>, listener: KindListener) {
    this.#context = context;
    this.#subject = subject;
    this.#listener = listener;
  }

  setScope(scope: Scope): void {
    if (scope === this.#scope) return;
    this.#scope = scope;
    if (scope === "each") this.#separate();
    else if (this.#members.size > 0 && this.#isShared()) this.#takeOverAll(this.#startAll());
  }

  /** Returns the cache that serves a namespace; starts to watch the namespace if necessary. */
  in(namespace: string): WatchCache<V> {
    const isShared = this.#isShared();
    const known = this.#members.get(namespace);
    const member = known ?? { own: isShared ? null : this.#start(namespace), isShared };
    if (known === undefined) this.#members.set(namespace, member);
    if (isShared) this.#takeOver(namespace, member, this.#startAll());
    return this.#serving(namespace, member);
  }

  /** Returns the object of that name in the cache of a watched namespace, however stale. */
  lastKnown(namespace: string, name: string): V | undefined {
    const member = this.#members.get(namespace);
    return member && this.#serving(namespace, member).lastKnown(namespace, name);
  }

  /**
   * Returns the watch of all namespaces; starts it if necessary.
   *
   * @throws ForbiddenError if the API server refused it in the last minutes, TransientError in the scope "each"
   */
  everywhere(): AllCache<V> {
    if (this.#isShared()) return this.#startAll();
    const what = `${this.#subject.resource.plural} of all namespaces`;
    throw this.#scope === "all" ? this.#refused?.error : new TransientError(`${what}: not watched`);
  }

  leave(namespace: string): void {
    const own = this.#members.get(namespace)?.own ?? null;
    this.#members.delete(namespace);
    this.#end(own);
    if (!this.#isShared()) this.#endUnused();
  }

  stop(): void {
    for (const namespace of [...this.#members.keys()]) this.leave(namespace);
    this.#endAll();
  }

  all(): readonly Supervised[] {
    const { plural } = this.#subject.resource;
    const own = [...this.#members.values()].map(member => member.own);
    return [this.#all, ...own].flatMap(watch => (watch === null ? [] : { plural, watch }));
  }

  #isShared(): boolean {
    if (this.#scope === "each") return false;
    return this.#refused === null || this.#context.clock.monotonicMs() - this.#refused.atMs >= REFUSED_MS;
  }

  #serving(namespace: string, member: Member<V>): WatchCache<V> {
    const all = this.#all;
    if (all !== null && (member.own === null || (member.isShared && all.trouble() === null))) {
      return new NamespacePart(all, namespace);
    }
    return (member.own ??= this.#start(namespace));
  }

  #start(namespace: string): Watch<V> {
    return this.#open({
      namespace,
      onDelta: delta => {
        if (this.#members.get(namespace)?.isShared === false && isChange(delta)) this.#listener.onChange(namespace);
      },
      onListed: () => this.#handBack(namespace),
      isLast: ({ reason }) => {
        if (reason === "forbidden") this.#handBack(namespace);
        return false;
      },
    });
  }

  #startAll(): Watch<V> {
    if (this.#all !== null) return this.#all;
    this.#refusedSinceMs = null;
    const all: Watch<V> = this.#open({
      onDelta: delta => this.#reportIn(delta),
      onListed: () => this.#takeOverAll(all),
      isLast: end => all === this.#all && this.#isRefused(all, end),
    });
    return (this.#all = all);
  }

  #open(options: Pick<WatchSubject<V>, "namespace" | "onDelta" | "onListed" | "isLast">): Watch<V> {
    const watch = new Watch(this.#context, { ...this.#subject, ...options });
    watch.start();
    return watch;
  }

  #reportIn(delta: Delta<V>): void {
    const namespace = (delta.after ?? delta.before)?.namespace;
    const { onChange, onAnyChange } = this.#listener;
    if (namespace === undefined) return;
    const isMember = this.#members.get(namespace)?.isShared === true;
    if (!(isMember || onAnyChange !== undefined) || !isChange(delta)) return;
    if (isMember) onChange(namespace);
    onAnyChange?.(namespace);
  }

  #takeOverAll(all: Watch<V>): void {
    const takeOver = ([namespace, member]: [string, Member<V>]): void => {
      if (this.#all === all && this.#isShared() && this.#members.get(namespace) === member) {
        this.#takeOver(namespace, member, all);
      }
    };
    this.#listener.onStopping(inSlices(this.#context.clock, each([...this.#members], takeOver)).then(() => undefined));
  }

  /** Ends the namespace's own watch as soon as that of all namespaces can serve it. */
  #takeOver(namespace: string, member: Member<V>, all: Watch<V>): void {
    const { own } = member;
    if (own === null || all.trouble() !== null) return;
    if (!member.isShared && !isSame(namespace, own, all)) this.#listener.onChange(namespace);
    member.own = null;
    member.isShared = true;
    this.#end(own);
  }

  /** Starts a watch for each namespace; that of all namespaces serves those whose own is not filled yet. */
  #separate(): void {
    const isUsable = this.#all?.trouble() === null;
    for (const [namespace, member] of this.#members) {
      member.isShared &&= isUsable;
      member.own ??= this.#start(namespace);
      if (member.own.isFilled()) this.#handBack(namespace);
    }
    this.#endUnused();
  }

  #handBack(namespace: string): void {
    const member = this.#members.get(namespace);
    if (member?.isShared !== true || member.own === null || this.#isShared()) return;
    member.isShared = false;
    if (this.#all !== null && !isSame(namespace, this.#all, member.own)) this.#listener.onChange(namespace);
    this.#endUnused();
  }

  #isRefused(all: Watch<V>, { reason, error }: WatchEnd): boolean {
    if (reason !== "forbidden") this.#refusedSinceMs = null;
    if (reason !== "forbidden" || !this.#isShared()) return false;
    const nowMs = this.#context.clock.monotonicMs();
    this.#refusedSinceMs ??= nowMs;
    const isFilled = all.isFilled();
    if (isFilled && nowMs - this.#refusedSinceMs < PATIENCE_MS) return false;
    this.#logRefusal(error as ForbiddenError);
    this.#refused = { atMs: nowMs, error };
    this.#separate();
    return !isFilled;
  }

  #logRefusal({ message }: Error): void {
    const fields = { resource: this.#subject.resource.plural, error: message };
    const text = "may not watch all namespaces, watching each one";
    if (this.#refused === null) this.#context.log.info(fields, text);
    else this.#context.log.debug(fields, text);
  }

  #endUnused(): void {
    for (const { isShared } of this.#members.values()) if (isShared) return;
    this.#endAll();
  }

  #endAll(): void {
    const all = this.#all;
    this.#all = null;
    this.#end(all);
  }

  #end(watch: Watch<V> | null): void {
    if (watch !== null) this.#listener.onStopping(watch.stop());
  }
}

/** The part of a watch of all namespaces that is in one of them. */
class NamespacePart<V extends Identified> implements WatchCache<V> {
  readonly #watch: Watch<V>;
  readonly #namespace: string;

  constructor(watch: Watch<V>, namespace: string) {
    this.#watch = watch;
    this.#namespace = namespace;
  }

  isAttempted(): boolean {
    return this.#watch.isAttempted();
  }

  attempted(): Promise<void> {
    return this.#watch.attempted();
  }

  ageMs(): number {
    return this.#watch.ageMs();
  }

  views(): readonly V[] {
    return this.#watch.viewsOf(this.#namespace);
  }

  find(namespace: string, name: string): V | undefined {
    return this.#watch.find(namespace, name);
  }

  lastKnown(namespace: string, name: string): V | undefined {
    return this.#watch.lastKnown(namespace, name);
  }
}

/** Reports whether two watches have the same views of a namespace. */
function isSame<V extends Identified>(namespace: string, before: Watch<V>, after: Watch<V>): boolean {
  const views = before.lastKnownOf(namespace);
  if (views.length !== after.lastKnownOf(namespace).length) return false;
  return views.every(view => {
    const other = after.lastKnown(namespace, view.name);
    return other?.uid === view.uid && !isChange({ before: view, after: other });
  });
}
