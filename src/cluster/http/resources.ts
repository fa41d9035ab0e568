import { TerminalError, TooLargeError, TransientError } from "../../core/errors";
import type { ObjectRef } from "../../core/intent";
import { arrayOf, type JsonObject, objectOf, textOf } from "../../core/json";
import { KINDS, type Kind, pluralOf } from "../../core/kinds";
import type { Api } from "./api";

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

export interface ListRequest {
  readonly resource: Resource;
  readonly place?: Place;
  readonly fieldSelector?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly limit: number;
  readonly accept?: string;
}

export interface Page {
  readonly items: readonly unknown[];
  /** The same for all pages of one list. */
  readonly resourceVersion: string;
}

/** Node parses a page in one piece: 500 pods, client-go's page size, block the event loop for 50 ms and more. */
export const PAGE_SIZE = 100;

/** More pages than any cluster has: a server whose list does not end is broken. */
const MAX_PAGES = 10_000;

/**
 * Lists a collection, one request per page. A page that is too large is requested again with a quarter of the objects, and so are all after
 * it: objects have up to 1.5 MB, and one author must not be able to keep a whole kind from being listed.
 *
 * @throws GoneError if the API server does not serve the resource, and any other error of core
 */
export async function* listPages(
  api: Pick<Api, "json">,
  { resource, place = {}, limit, fieldSelector, labelSelector, accept }: ListRequest,
  signal?: AbortSignal,
): AsyncGenerator<Page, void, undefined> {
  const what = describeCall("list", resource, place);
  let token: string | undefined;
  let size = limit;
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { limit: size, continue: token, fieldSelector, labelSelector };
    const request = { what, path: pathOf(resource, place), query, ...(accept === undefined ? {} : { accept }) };
    const list = await orTooLarge(() => api.json<JsonObject>(request, signal), size);
    if (list === undefined) {
      size = Math.ceil(size / 4);
      continue;
    }
    const metadata = objectOf(list["metadata"]);
    yield { items: arrayOf(list["items"]), resourceVersion: textOf(metadata["resourceVersion"]) ?? "" };
    token = textOf(metadata["continue"]) || undefined;
    if (token === undefined) return;
  }
  throw new TransientError(`${what}: expected a list of at most ${MAX_PAGES} pages, got more`);
}

/** Returns undefined instead of a page that is too large and has several objects. */
async function orTooLarge<T>(read: () => Promise<T>, size: number): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (size > 1 && error instanceof TooLargeError) return undefined;
    throw error;
  }
}
