import { TooLargeError, TransientError } from "../../core/errors";
import { objectOf, parseObject, textOf } from "../../core/json";
import { type Api, MAX_JSON_BYTES } from "../http/api";
import { describeCall, type ListRequest, type Page, pathOf } from "../http/resources";

/**
 * Lists a collection by one request without pages, as client-go does where a continue token has expired: a list of pages that takes longer
 * than etcd keeps old revisions (5 minutes) would never end. The API server answers from its watch cache. Yields the items as they arrive.
 *
 * @param version the answer is at least as new as this resourceVersion
 */
export async function* listWhole(
  api: Pick<Api, "open">,
  { resource, place = {}, fieldSelector }: Omit<ListRequest, "limit">,
  version: string,
  signal: AbortSignal,
): AsyncGenerator<Page, void, undefined> {
  const what = describeCall("list", resource, place);
  const query = { resourceVersion: version, resourceVersionMatch: "NotOlderThan", fieldSelector };
  const chunks = (await api.open({ what, path: pathOf(resource, place), query }, signal)) as AsyncIterable<Buffer>;
  const splitter = new ItemSplitter(what);
  for await (const chunk of chunks) yield { items: splitter.push(chunk).map(parseObject), resourceVersion: version };
  yield { items: [], resourceVersion: splitter.end() };
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const OPENING = [0x7b, 0x5b];
const CLOSING = [0x7d, 0x5d];

/** The list and its fields are above: only items have objects in objects there. */
const ITEM_DEPTH = 3;

/** Splits the JSON of a list into its items while it arrives, so that it is neither kept nor parsed in one piece. */
class ItemSplitter {
  readonly #what: string;
  /** What is not part of an item. */
  readonly #rest: Buffer[] = [];
  /** The parts of an item that is not complete. */
  #item: Buffer[] = [];
  #itemBytes = 0;
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  constructor(what: string) {
    this.#what = what;
  }

  /** Returns the items that this chunk completes. @throws TooLargeError for one that is too large to be parsed */
  push(chunk: Buffer): string[] {
    const items: string[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const change = this.#step(chunk[at]);
      this.#depth += change;
      if (change > 0 && this.#depth === ITEM_DEPTH) {
        this.#rest.push(chunk.subarray(start, at));
        start = at;
      } else if (change < 0 && this.#depth === ITEM_DEPTH - 1) {
        this.#extend(chunk.subarray(start, at + 1));
        items.push(Buffer.concat(this.#item).toString("utf8"));
        [this.#item, this.#itemBytes] = [[], 0];
        start = at + 1;
      }
    }
    if (this.#depth >= ITEM_DEPTH) this.#extend(chunk.subarray(start));
    else this.#rest.push(chunk.subarray(start));
    return items;
  }

  /** Returns the resourceVersion of the list. @throws TransientError if it is not complete */
  end(): string {
    const rest = Buffer.concat(this.#rest)
      .toString("utf8")
      .replace(/\[[,\s]*\]/, "[]");
    const version = textOf(objectOf(parseObject(rest)?.["metadata"])["resourceVersion"]);
    if (version === undefined) throw new TransientError(`${this.#what}: expected a whole list, got another text`);
    return version;
  }

  #extend(part: Buffer): void {
    this.#itemBytes += part.length;
    if (this.#itemBytes > MAX_JSON_BYTES) throw new TooLargeError(`${this.#what}: an object is too large`);
    this.#item.push(part);
  }

  /** Returns by how much a byte changes the depth. */
  #step(byte = 0): number {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === QUOTE) this.#isText = !this.#isText;
    else if (this.#isText) this.#isEscaped = byte === BACKSLASH;
    else return OPENING.includes(byte) ? 1 : CLOSING.includes(byte) ? -1 : 0;
    return 0;
  }
}
