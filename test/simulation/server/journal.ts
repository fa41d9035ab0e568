import type { Obj } from "./objects";

/** One request, as the world's truth knows it. */
export interface Entry {
  /** From the start of the world. */
  readonly atMs: number;
  readonly server: number;
  /** Name of the client's process. */
  readonly from: string;
  readonly verb: string;
  readonly path: string;
  /** Empty for a path that is no resource. */
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
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
export function isWrite({ verb, resource = "" }: { readonly verb: string; readonly resource?: string }): boolean {
  return !READS.has(verb) && !resource.endsWith("reviews");
}
