import { toNewEvent } from "./events";
import { apiVersionOf, type KindInfo, NEW_EVENTS } from "./kinds";
import { type Obj, Refusal } from "./objects";
import { asServed } from "./registry";
import { fieldSelector, type Selects } from "./selectors";
import type { Call, Served, World } from "./serve";
import type { Store } from "./store";
import { notFound } from "./validation";
import { type Page, textOfList, textOfMetadataList, textOfObject } from "./texts";

/** A list of which pages are left, by continue token. */
interface Rest {
  readonly items: readonly Obj[];
  readonly revision: number;
  readonly atMs: number;
}

/** etcd forgets the revision of a list, which all of its pages are of, after so long. */
const COMPACTED_MS = 300_000;

/** get and list. */
export class Reads {
  readonly #world: World;
  readonly #rests = new Map<string, Rest>();
  #tokens = 0;

  constructor(world: World) {
    this.#world = world;
  }

  get(call: Call): Served {
    const { info, ask } = call;
    const object = find(this.#world.store, call);
    if (object === undefined) throw notFound(info, ask.name ?? "");
    return { code: 200, body: textOfObject(this.#shown(object, info)) };
  }

  list(call: Call): Served {
    const { info, headers } = call;
    const page = this.#page(call);
    if (isMetadataOnly(headers)) return { code: 200, body: textOfMetadataList(page) };
    const items = page.items.map(item => this.#shown(item, info));
    return { code: 200, body: textOfList({ ...page, items }, info, apiVersionOf(info)) };
  }

  #shown(object: Obj, info: KindInfo): Obj {
    return info === NEW_EVENTS ? toNewEvent(object) : asServed(object, info, this.#world.store);
  }

  #page(call: Call): Page {
    const { query } = call.ask;
    const token = query.get("continue") ?? "";
    const limit = numberIn(query, "limit");
    const { items, revision, atMs } = token === "" ? this.#start(call) : this.#rest(token);
    if (limit === undefined || limit === 0 || items.length <= limit) return { items, revision };
    const rest = items.slice(limit);
    const remaining = query.has("fieldSelector") ? undefined : rest.length;
    return { items: items.slice(0, limit), revision, next: this.#keep({ items: rest, revision, atMs }), remaining };
  }

  #start(call: Call): Rest {
    const { store } = this.#world;
    refuseFuture(call.ask.query, store);
    const { info, namespace, staleMs } = call;
    const [all, selects] = [staleMs > 0 ? before(store, call) : store.list(info.plural, namespace), selectsOf(call)];
    const revision = staleMs > 0 ? store.revisionBefore(info.plural, staleMs) : store.revision;
    const items = selects === undefined ? all : all.filter(selects);
    return { items, revision, atMs: this.#world.clock.monotonicMs() };
  }

  #rest(token: string): Rest {
    const rest = this.#rests.get(token);
    if (rest !== undefined && this.#world.clock.monotonicMs() - rest.atMs < COMPACTED_MS) return rest;
    throw new Refusal(
      410,
      "Expired",
      "The provided continue parameter is too old to display a consistent list result.",
    );
  }

  #keep(rest: Rest): string {
    const token = `c${(this.#tokens++).toString(36)}`;
    this.#rests.set(token, rest);
    const oldestMs = this.#world.clock.monotonicMs() - COMPACTED_MS;
    for (const [old, { atMs }] of this.#rests) if (atMs <= oldestMs) this.#rests.delete(old);
    return token;
  }
}

/** The object that a request names. */
export function find(store: Store, call: Call): Obj | undefined {
  const { info, namespace, ask, staleMs } = call;
  if (staleMs === 0) return store.get(info.plural, namespace, ask.name ?? "");
  return before(store, call).find(({ metadata }) => metadata.name === ask.name);
}

function before(store: Store, { info, namespace, staleMs }: Call): readonly Obj[] {
  const all = store.listBefore(info.plural, staleMs);
  return namespace === undefined ? all : all.filter(({ metadata }) => metadata.namespace === namespace);
}

/** What the selector of a query selects; undefined without one. @throws Refusal 400 */
export function selectsOf({ ask: { query }, info }: Call): Selects | undefined {
  const fields = query.get("fieldSelector") ?? "";
  return fields === "" ? undefined : fieldSelector(fields, info);
}

/** @throws Refusal 504 for a resourceVersion that is not there yet, as after a restore from a backup */
function refuseFuture(query: URLSearchParams, { revision }: Store): void {
  const asked = query.get("resourceVersion") ?? "";
  if (asked === "" || Number(asked) <= revision) return;
  const message = `Too large resource version: ${asked}, current: ${revision}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  throw new Refusal(504, "Timeout", `Timeout: ${message}`, { causes, retryAfterSeconds: 1 });
}

function isMetadataOnly(headers: Readonly<Record<string, string>>): boolean {
  return (headers["Accept"] ?? "").includes("as=PartialObjectMetadata");
}

/** A whole number of a query. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null || text === "" ? undefined : Number(text);
}
