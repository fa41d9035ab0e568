import { toNewEvent } from "./events";
import { apiVersionOf, type KindInfo, NEW_EVENTS } from "./kinds";
import { type Obj, Refusal } from "./objects";
import { asServed } from "./registry";
import { fieldSelector, labelSelector, type Selects } from "./selectors";
import { type Call, header, type Served, type World } from "./serve";
import { notFound, type Store } from "./store";
import { type Page, textOfList, textOfMetadata, textOfMetadataList, textOfObject } from "./texts";

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
    const { info, ask, headers } = call;
    const name = ask.name ?? "";
    const object = find(this.#world.store, call);
    if (object === undefined) throw notFound(info, name);
    const shown = this.#shown(object, info);
    return { code: 200, body: isMetadataOnly(headers) ? textOfMetadata(shown) : textOfObject(shown) };
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
    const remaining = query.has("labelSelector") || query.has("fieldSelector") ? undefined : rest.length;
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
    if (!token.startsWith("c")) throw new Refusal(400, "BadRequest", "continue key is not valid: malformed value");
    const message =
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";
    throw new Refusal(410, "Expired", message);
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

/** What the selectors of a query select; undefined without one. @throws Refusal 400 */
export function selectsOf({ ask: { query, name }, info }: Call): Selects | undefined {
  const labels = query.get("labelSelector") ?? "";
  const fields = query.get("fieldSelector") ?? "";
  const tests: Selects[] = [
    ...(labels === "" ? [] : [labelSelector(labels)]),
    ...(fields === "" ? [] : [fieldSelector(fields, info)]),
    ...(name === undefined ? [] : [({ metadata }: Obj) => metadata.name === name]),
  ];
  return tests.length === 0 ? undefined : object => tests.every(test => test(object));
}

/** @throws Refusal 504 for a resourceVersion that is not there yet, as after a restore from a backup */
export function refuseFuture(query: URLSearchParams, { revision }: Store): void {
  const asked = query.get("resourceVersion") ?? "";
  if (asked === "") return;
  if (!/^\d+$/.test(asked)) {
    const why = `resourceVersion: Invalid value: "${asked}": strconv.ParseUint: parsing "${asked}": invalid syntax`;
    throw new Refusal(400, "BadRequest", `Invalid value: "${asked}": ${why}`);
  }
  if (Number(asked) <= revision) return;
  const message = `Too large resource version: ${asked}, current: ${revision}`;
  const causes = [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }];
  throw new Refusal(504, "Timeout", `Timeout: ${message}`, { causes, retryAfterSeconds: 1 });
}

function isMetadataOnly(headers: Readonly<Record<string, string>>): boolean {
  return (header(headers, "Accept") ?? "").includes("as=PartialObjectMetadata");
}

/** A whole number of a query. */
export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (/^-?\d+$/.test(text)) return Number(text);
  throw new Refusal(400, "BadRequest", `strconv.ParseInt: parsing "${text}": invalid syntax`);
}
