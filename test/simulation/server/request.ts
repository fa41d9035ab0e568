import { type KindInfo, NEW_EVENTS } from "./kinds";
import type { Store } from "./store";

/** What a request is for, as the API server reads its path and method. */
export interface Ask {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Of a resource: get, list, watch, create, update, patch or delete; else the method. */
  readonly verb: string;
  readonly group?: string;
  readonly version?: string;
  readonly namespace?: string;
  readonly resource?: string;
  readonly name?: string;
  readonly subresource?: string;
}

const VERBS: Readonly<Record<string, string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
  GET: "get",
};

type Place = Omit<Ask, "method" | "query" | "verb">;

const places = new Map<string, Place>();

/** Reads a path; the same ones come again and again. */
function placeOf(path: string): Place {
  const known = places.get(path);
  if (known !== undefined) return known;
  if (places.size > 20_000) places.clear();
  const place = readPath(path);
  places.set(path, place);
  return place;
}

function readPath(path: string): Place {
  const segments = path.split("/").slice(1).map(decodeURIComponent);
  const [root = "", first = "", second = ""] = segments;
  const isCore = root === "api";
  const rest = isCore ? segments.slice(2) : root === "apis" ? segments.slice(3) : [];
  if (rest.length === 0) return { path };
  return { path, ...(isCore ? { group: "", version: first } : { group: first, version: second }), ...readPlace(rest) };
}

/** A Namespace is in itself. */
function readPlace(segments: readonly string[]): Pick<Place, "namespace" | "resource" | "name" | "subresource"> {
  const [first, namespace = "", third = ""] = segments;
  const isOfNamespace = first === "namespaces" && namespace !== "";
  const isWithin = isOfNamespace && !["", "status", "finalize"].includes(third);
  const [resource = "", name = "", subresource = ""] = isWithin ? segments.slice(2) : segments;
  const place = { namespace: isOfNamespace ? namespace : "", name, subresource };
  return { resource, ...Object.fromEntries(Object.entries(place).filter(([, value]) => value !== "")) };
}

/** Reads method, path and query. */
export function readRequest(method: string, url: string): Ask {
  const at = url.indexOf("?");
  const place = placeOf(at < 0 ? url : url.slice(0, at));
  const query = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  const verb = place.resource === undefined ? method.toLowerCase() : verbOf(method, place, query);
  return { ...place, method, query, verb };
}

function verbOf(method: string, { name }: Place, query: URLSearchParams): string {
  if (method === "DELETE" && name === undefined) return "deletecollection";
  if (method !== "GET" || name !== undefined) return VERBS[method] ?? method.toLowerCase();
  return ["true", "1"].includes(query.get("watch") ?? "") ? "watch" : "list";
}

/** What the servers serve at a place; undefined: nothing. */
export function servedKind({ group, version, resource }: Ask, store: Store): KindInfo | undefined {
  if (resource === "events" && group === NEW_EVENTS.group) return NEW_EVENTS;
  const info = store.kind(resource ?? "");
  return info?.group === group && info?.version === version ? info : undefined;
}
