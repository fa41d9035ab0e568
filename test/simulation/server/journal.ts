import type { Obj } from "./objects";

/** One request, as the world's truth knows it. */
export interface Entry {
  readonly atMs: number;
  readonly server: number;
  /** Name of the client's process. */
  readonly from: string;
  readonly user: string;
  readonly verb: string;
  readonly path: string;
  readonly group?: string | undefined;
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
  readonly query: string;
  /** 0: never executed. */
  readonly code: number;
  /** Of a write. */
  readonly body?: string | undefined;
  readonly before?: Obj | undefined;
  readonly after?: Obj | undefined;
  /** The client did not get this answer. */
  readonly isLost?: boolean;
}

const READS = new Set(["get", "list", "watch"]);

/** Whether a request could change something. */
export function isWrite({ verb, resource = "" }: Pick<Entry, "verb" | "resource">): boolean {
  return !READS.has(verb) && !resource.endsWith("reviews");
}

/** Every request to the API servers. It keeps all writes, and counts reads. */
export class Journal {
  readonly writes: Entry[] = [];
  /** Called with each request, reads too. */
  readonly listeners = new Set<(entry: Entry) => void>();
  #requests = 0;

  get requests(): number {
    return this.#requests;
  }

  add(entry: Entry): void {
    this.#requests++;
    if (isWrite(entry)) this.writes.push(entry);
    for (const listener of this.listeners) listener(entry);
  }
}
