import { TransientError } from "../../core/errors";
import { arrayOf, type JsonObject, objectOf, textOf } from "../../core/json";
import type { Api } from "./api";
import { describeCall, pathOf, type Place, type Resource } from "./resources";

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
 * Lists a collection, one request per page.
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
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { limit, continue: token, fieldSelector, labelSelector };
    const request = { what, path: pathOf(resource, place), query, ...(accept === undefined ? {} : { accept }) };
    const list: JsonObject = await api.json(request, signal);
    const metadata = objectOf(list["metadata"]);
    yield { items: arrayOf(list["items"]), resourceVersion: textOf(metadata["resourceVersion"]) ?? "" };
    token = textOf(metadata["continue"]) || undefined;
    if (token === undefined) return;
  }
  throw new TransientError(`${what}: expected a list of at most ${MAX_PAGES} pages, got more`);
}
