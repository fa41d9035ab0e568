import type { KindInfo } from "./kinds";
import type { Obj } from "./objects";
import type { Change } from "./store";

// Objects as JSON. Each stored revision becomes text once, however many clients read it.

const inner = new WeakMap<Obj, string>();

/** An object without its braces, kind and apiVersion. */
function innerOf(object: Obj): string {
  const known = inner.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify({ ...object, kind: undefined, apiVersion: undefined }).slice(1, -1);
  inner.set(object, text);
  return text;
}

/** An object as a body. */
export function textOfObject(object: Obj): string {
  return `{"kind":"${object.kind}","apiVersion":"${object.apiVersion}",${innerOf(object)}}`;
}

/** An object in a list: built-in kinds say their kind only once, in the list. */
function textOfItem(object: Obj, { isCustom }: KindInfo): string {
  return isCustom === true ? textOfObject(object) : `{${innerOf(object)}}`;
}

/** A list, or a page of it. */
export interface Page {
  readonly items: readonly Obj[];
  readonly revision: number;
  readonly next?: string | undefined;
  readonly remaining?: number | undefined;
}

/** A list as a body. */
export function textOfList({ items, revision, next, remaining }: Page, info: KindInfo, apiVersion: string): string {
  const end = info.isCustom === true ? "" : undefined;
  const metadata = JSON.stringify({
    resourceVersion: String(revision),
    continue: next ?? end,
    remainingItemCount: remaining,
  });
  const texts = items.map(item => textOfItem(item, info)).join(",");
  return `{"kind":"${info.kind}List","apiVersion":"${apiVersion}","metadata":${metadata},"items":[${texts}]}`;
}

const META = "meta.k8s.io/v1";

/** A list of metadata only. */
export function textOfMetadataList({ items, revision, next, remaining }: Page): string {
  const metadata = { resourceVersion: String(revision), continue: next, remainingItemCount: remaining };
  const partial = items.map(item => ({ kind: "PartialObjectMetadata", apiVersion: META, metadata: item.metadata }));
  return JSON.stringify({ kind: "PartialObjectMetadataList", apiVersion: META, metadata, items: partial });
}

const lines = new WeakMap<Obj, Map<Change["type"], Buffer>>();

/** One line of a watch. */
export function lineOf(type: Change["type"], object: Obj): Buffer {
  const known = lines.get(object) ?? new Map<Change["type"], Buffer>();
  lines.set(object, known);
  const found = known.get(type);
  if (found !== undefined) return found;
  const line = Buffer.from(`{"type":"${type}","object":${textOfObject(object)}}\n`);
  known.set(type, line);
  return line;
}

/** The line of a bookmark. */
export function bookmarkLine(kind: string, apiVersion: string, revision: number): Buffer {
  const metadata = { resourceVersion: String(revision), creationTimestamp: null };
  return Buffer.from(`${JSON.stringify({ type: "BOOKMARK", object: { kind, apiVersion, metadata } })}\n`);
}

/** The line of an error. */
export function errorLine(status: object): Buffer {
  return Buffer.from(`${JSON.stringify({ type: "ERROR", object: status })}\n`);
}
