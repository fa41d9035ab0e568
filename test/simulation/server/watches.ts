import type { Cancel } from "../../../src/core/time";
import { Answer } from "./answer";
import { toNewEvent } from "./events";
import { apiVersionOf, NEW_EVENTS } from "./kinds";
import { type Obj, Refusal } from "./objects";
import { numberIn, selectsOf } from "./reads";
import type { Selects } from "./selectors";
import type { Call, World } from "./serve";
import type { Change } from "./store";
import { bookmarkLine, errorLine, lineOf } from "./texts";

/** A bookmark comes once in so long. */
const BOOKMARK_MS = 60_000;

/** Without a timeout in the query, a watch lasts from this to twice as long. */
const TIMEOUT_SECONDS = 1_800;

/** What a fault does to an event of a watch. */
export type EventFault = (change: Change) => "drop" | "repeat" | undefined;

/** How a watch is served. */
export interface WatchTerms {
  /** The server shows the store as it was so long ago. */
  readonly lagMs: number;
  /** A fault: the watch says nothing from now on, neither events nor bookmarks nor its end. */
  readonly isSilent?: boolean;
  readonly onEvent?: EventFault | undefined;
}

/** One open watch. */
export class WatchStream {
  readonly answer: Answer;
  readonly #world: World;
  readonly #call: Call;
  readonly #selects: Selects | undefined;
  readonly #queue: Change[] = [];
  readonly #cancels: Cancel[] = [];
  #cancelBookmark: Cancel = () => undefined;
  #cancelQueue: Cancel = () => undefined;
  #terms: WatchTerms;
  /** The asked revision, or that of the last event or bookmark. */
  #revision: number;

  /** @throws Refusal 400 */
  constructor(world: World, call: Call, { terms, answer }: { terms: WatchTerms; answer: Answer }) {
    this.#world = world;
    this.#call = call;
    this.#terms = terms;
    this.answer = answer;
    this.#selects = selectsOf(call);
    this.#revision = world.store.revision;
  }

  get resource(): string {
    return this.#call.info.plural;
  }

  /** Sends what has changed since the asked version, and then each change. */
  start(): void {
    const { store } = this.#world;
    const { query } = this.#call.ask;
    this.answer.onClose = () => this.#stop();
    this.#cancels.push(store.subscribe(this.resource, change => this.#take(change)));
    this.#resume(Number(query.get("resourceVersion")));
    const seconds = numberIn(query, "timeoutSeconds") ?? Math.round(this.#world.dice.between(1, 2) * TIMEOUT_SECONDS);
    this.#cancels.push(this.#world.clock.after(1_000 * seconds, () => this.#end()));
    if (query.get("allowWatchBookmarks") === "true" && this.resource !== "events") this.#planBookmark();
  }

  /** Says nothing more, and keeps the connection. */
  silence(): void {
    this.#terms = { ...this.#terms, isSilent: true };
  }

  /** The server ends the watch; with an error it breaks. */
  end(error?: Error): void {
    this.answer.end(error);
    this.#stop();
  }

  #end(): void {
    if (this.#terms.isSilent !== true) this.end();
  }

  #stop(): void {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.#cancelBookmark();
    this.#cancelQueue();
  }

  #resume(from: number): void {
    const changes = this.#world.store.changesSince(this.resource, from);
    if (changes !== undefined) {
      this.#revision = from;
      for (const change of changes) this.#take(change);
      return;
    }
    const oldest = this.#world.store.revision;
    const { status } = new Refusal(410, "Expired", `too old resource version: ${from} (${oldest})`);
    this.answer.push(errorLine(status));
    this.end();
  }

  #take(change: Change): void {
    const place = this.#call.namespace;
    if (place !== undefined && change.object.metadata.namespace !== place) return;
    const dueMs = change.atMs + this.#terms.lagMs - this.#world.clock.monotonicMs();
    if (dueMs <= 0 && this.#queue.length === 0) {
      this.#tell(change);
      return;
    }
    this.#queue.push(change);
    if (this.#queue.length === 1) this.#cancelQueue = this.#world.clock.after(dueMs, () => this.#catchUp());
  }

  #catchUp(): void {
    const nowMs = this.#world.clock.monotonicMs();
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const dueMs = next.atMs + this.#terms.lagMs - nowMs;
      if (dueMs > 0) {
        this.#cancelQueue = this.#world.clock.after(dueMs, () => this.#catchUp());
        return;
      }
      this.#queue.shift();
      this.#tell(next);
    }
  }

  /**
   * An object that comes into the selection is added, and one that leaves it deleted. A watch from a revision that is not there yet, as after a
   * restore, gets nothing until the store has passed it (k8s.io/apiserver, cacheWatcher.process).
   */
  #tell(change: Change): void {
    if (this.#terms.isSilent === true || change.revision <= this.#revision) return;
    const fault = this.#terms.onEvent?.(change);
    if (fault === "drop") return;
    this.#revision = change.revision;
    const type = this.#typeOf(change);
    if (type === undefined) return;
    this.#send(type, change.object);
    if (fault === "repeat") this.#send(type, change.object);
  }

  #typeOf({ type, object, old }: Change): Change["type"] | undefined {
    if (this.#selects === undefined) return type;
    const was = old !== undefined && this.#selects(old);
    const is = type !== "DELETED" && this.#selects(object);
    if (is) return was ? "MODIFIED" : "ADDED";
    return was ? "DELETED" : undefined;
  }

  #send(type: Change["type"], object: Obj): void {
    this.answer.push(lineOf(type, this.#call.info === NEW_EVENTS ? toNewEvent(object) : object));
  }

  #planBookmark(): void {
    this.#cancelBookmark = this.#world.clock.after(BOOKMARK_MS, () => {
      this.#bookmark();
      this.#planBookmark();
    });
  }

  #bookmark(): void {
    const { revision } = this.#world.store;
    if (this.#terms.isSilent === true || revision < this.#revision) return;
    const { info } = this.#call;
    // What is queued is not told yet.
    if (this.#queue.length === 0 && this.#terms.lagMs === 0) this.#revision = revision;
    this.answer.push(bookmarkLine(info.kind, apiVersionOf(info), this.#revision));
  }
}

/** Opens a watch. @throws Refusal 400 */
export function openWatch(
  world: World,
  call: Call,
  terms: WatchTerms,
  headers: Readonly<Record<string, string>>,
): WatchStream {
  return new WatchStream(world, call, { terms, answer: new Answer(200, headers) });
}
