import { askedMs, backoffMs, type Clock, pause, type Random } from "../../core/time";
import {
  GoneError,
  TerminalError,
  TooLargeError,
  TransientError,
  UnauthorizedError,
  WaitError,
} from "../../core/errors";
import type { ObjectRef } from "../../core/intent";
import { arrayOf, type JsonObject, objectOf, textsOf } from "../../core/json";
import { KINDS, type Kind, pluralOf } from "../../core/kinds";
import { type Api, type ApiRequest, MAX_JSON_BYTES } from "./api";
import { ExpiredError } from "./status-errors";

/** A resource of the Kubernetes API, as URLs name it. */
export type Resource = Pick<Kind, "group" | "version" | "plural">;

export interface Place {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string;
}

/** The Events of the core API, which the kubelet writes; the operator itself writes events.k8s.io. */
export const CORE_EVENTS: Resource = { ...KINDS.Event, group: "" };

/** @throws TerminalError for a kind that is not in {@link KINDS} */
export function resourceOf({ apiVersion, kind }: Pick<ObjectRef, "apiVersion" | "kind">): Resource {
  const plural = pluralOf(kind);
  if (plural === undefined) throw new TerminalError(`kind ${kind}: expected one of ${Object.keys(KINDS).join(", ")}`);
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return { group, version, plural };
}

/** Returns the URL path, with escaped names. */
export function pathOf(resource: Resource, place: Place = {}): string {
  const segments = [
    ...(resource.group === "" ? ["api"] : ["apis", resource.group]),
    resource.version,
    ...(place.namespace === undefined ? [] : ["namespaces", place.namespace]),
    resource.plural,
    ...(place.name === undefined ? [] : [place.name]),
    ...(place.subresource === undefined ? [] : [place.subresource]),
  ];
  return segments.map(segment => `/${encodeURIComponent(segment)}`).join("");
}

/** Describes a call, such as `get pods kai/scheduler-0` or `list pods in kai`. */
export function describeCall(verb: string, resource: Resource, place: Place = {}): string {
  const plural = place.subresource === undefined ? resource.plural : `${resource.plural}/${place.subresource}`;
  if (place.name !== undefined) {
    return `${verb} ${plural} ${place.namespace === undefined ? "" : `${place.namespace}/`}${place.name}`;
  }
  return place.namespace === undefined ? `${verb} ${plural}` : `${verb} ${plural} in ${place.namespace}`;
}

/** How HTTP says a verb of the Kubernetes API. */
const VERBS = {
  ...{ get: {}, list: {}, watch: {} },
  create: { method: "POST" },
  update: { method: "PUT" },
  patch: { method: "PATCH", contentType: "application/merge-patch+json" },
  apply: { method: "PATCH", contentType: "application/apply-patch+yaml" },
  delete: { method: "DELETE" },
} as const satisfies Record<string, Pick<ApiRequest, "method" | "contentType">>;

/** Returns everything of a call but its query and body. An object is created in its collection; its name is in messages only. */
export function callOf(verb: keyof typeof VERBS, resource: Resource, place: Place = {}): ApiRequest {
  const isNew = verb === "create" && place.subresource === undefined;
  const path = pathOf(resource, isNew ? { namespace: place.namespace } : place);
  return { what: describeCall(verb, resource, place), path, ...VERBS[verb] };
}

export interface ListRequest {
  readonly resource: Resource;
  readonly place?: Place;
  readonly fieldSelector?: string | undefined;
  readonly limit: number;
  readonly accept?: string;
  /** Largest page, and largest object; by default {@link PAGE_BYTES}, and what any other answer may have. */
  readonly maxBytes?: number;
}

export interface ListOptions {
  readonly signal?: AbortSignal | undefined;
  /** Absent: a page that fails ends the list. */
  readonly patience?: Patience | undefined;
  /** Takes each object that is too large to be read. Absent: the list fails, and names it. */
  readonly onUnread?: (object: Unread) => void;
}

/** How a page is repeated that the API server refuses or loses. The first page is not: the caller begins again, with nothing lost. */
export interface Patience {
  readonly clock: Clock;
  readonly random: Random;
  /** Longest Retry-After that is waited for, in milliseconds; a longer one ends the list. */
  readonly longestMs: number;
}

/** An object that is too large to be read. */
export interface Unread {
  /** Empty: cluster-scoped. */
  readonly namespace: string;
  readonly name: string;
}

export interface Page {
  readonly items: readonly unknown[];
  /** The same for all pages of one list. */
  readonly resourceVersion: string;
}

/** Node parses a page in one piece: 500 pods, client-go's page size, block the event loop for 50 ms and more. */
export const PAGE_SIZE = 100;

/** Parsing takes about 10 ms per MiB. */
const PAGE_BYTES = 2 * 1024 * 1024;

/** Fewer requests for a list that takes longer than its continue token lives. A page is parsed within 50 ms still. */
export const LARGE_PAGES = { limit: 16 * PAGE_SIZE, maxBytes: MAX_JSON_BYTES };

/** Requests only the metadata of each object. */
export const METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** More than any cluster needs: a server whose list does not end is broken. */
const MAX_REQUESTS = 20_000;

/** A page that fails so often in a row ends the list. */
const MAX_TRIES = 10;

/**
 * Lists a collection, one request per page. A page that is too large is asked for again with half of the objects, down to one, of which only
 * the metadata is read then: one author must not be able to keep a whole kind from being listed. Later pages grow again.
 *
 * @throws GoneError if the API server does not serve the resource, and any other error of core
 */
export async function* listPages(
  api: Pick<Api, "json">,
  list: ListRequest,
  options: ListOptions = {},
): AsyncGenerator<Page, void, undefined> {
  const fail = (object: Unread): never => {
    throw unreadError(whatOf(list), object);
  };
  const { signal, patience, onUnread = fail } = options;
  let token: string | undefined;
  // 0 is the metadata of one object.
  let size = list.limit;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const isFirst = token === undefined;
    const answer = await readPage(api, pageOf(list, size, token), { signal, patience: isFirst ? undefined : patience });
    if (answer === undefined) {
      size = smaller(size, list);
      continue;
    }
    const { resourceVersion, next, items } = contentOf(answer);
    if (size === 0) for (const item of items) onUnread(unreadOf(item));
    yield { items: size === 0 ? [] : items, resourceVersion };
    if (next === "") return;
    token = next;
    size = Math.min(list.limit, size + Math.ceil((size + 1) / 4));
  }
  throw new TransientError(`${whatOf(list)}: expected a list of at most ${MAX_REQUESTS} pages, got more`);
}

function contentOf(answer: JsonObject): Page & { readonly next: string } {
  const { resourceVersion = "", continue: next = "" } = textsOf(answer["metadata"]);
  return { items: arrayOf(answer["items"]), resourceVersion, next };
}

function smaller(size: number, list: ListRequest): number {
  if (size === 0) throw new TooLargeError(`${whatOf(list)}: the metadata of an object is too large to be read`);
  return Math.floor(size / 2);
}

function pageOf(list: ListRequest, size: number, token: string | undefined): ApiRequest {
  const { resource, place, fieldSelector, accept } = list;
  const maxBytes = list.maxBytes ?? (size > 1 ? PAGE_BYTES : undefined);
  return {
    ...callOf("list", resource, place),
    query: { limit: Math.max(1, size), continue: token, fieldSelector },
    ...(size === 0 ? { accept: METADATA_ONLY } : accept === undefined ? {} : { accept }),
    ...(maxBytes !== undefined && { maxBytes }),
  };
}

function whatOf({ resource, place }: ListRequest): string {
  return describeCall("list", resource, place);
}

function unreadOf(item: unknown): Unread {
  const { namespace, name } = textsOf(objectOf(item)["metadata"]);
  return { namespace: namespace ?? "", name: name ?? "" };
}

/** Names an object that is too large to be read. */
export function unreadError(what: string, { namespace, name }: Unread): TooLargeError {
  return new TooLargeError(`${what}: ${namespace === "" ? "" : `${namespace}/`}${name} is too large to be read`);
}

/** Returns undefined instead of a page that is too large. */
async function readPage(
  api: Pick<Api, "json">,
  request: ApiRequest,
  { signal, patience }: Pick<ListOptions, "signal" | "patience">,
): Promise<JsonObject | undefined> {
  for (let failures = 0; ; failures++) {
    try {
      return await api.json<JsonObject>(request, signal);
    } catch (error) {
      if (error instanceof TooLargeError) return undefined;
      if (patience === undefined || failures >= MAX_TRIES || !isPassing(error, patience)) throw error;
      await pause(patience.clock, backoffMs(failures, patience.random, askedMs(error)), signal);
    }
  }
}

/** Reports whether the same request may succeed in a moment. */
function isPassing(error: unknown, { longestMs }: Patience): boolean {
  if (error instanceof WaitError) return error.afterMs <= longestMs;
  return error instanceof TransientError && !FINAL.some(other => error instanceof other);
}

const FINAL = [UnauthorizedError, GoneError, ExpiredError];
