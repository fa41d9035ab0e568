import { isDeepStrictEqual } from "node:util";
import { pathOf, resourceOf } from "../../src/cluster/http/resources";
import { GoneError } from "../../src/core/errors";
import type { Admin } from "../cluster/admin";

export interface GitObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** An object as the API server returns it. */
type Live = GitObject & { readonly status?: unknown };

/** Derives the applied object from that in Git and that in the cluster, as `ignoreDifferences` does with RespectIgnoreDifferences=true. */
export type Ignore = (wanted: GitObject, live: Live) => GitObject;

/**
 * Applies objects from Git repeatedly, as Argo CD does: by server-side apply as its field manager, with force. Changes by such an apply are what
 * Argo CD calls drift. No part of Argo CD itself runs here.
 */
export class GitOps {
  /** Kind and name of each object that differed from Git, once for each time it was restored. */
  readonly putBack: string[] = [];

  constructor(
    private readonly admin: Admin,
    private readonly objects: readonly GitObject[],
    private readonly ignore: Ignore = wanted => wanted,
  ) {}

  async sync(): Promise<void> {
    for (const wanted of this.objects) {
      const live = await this.#live(wanted);
      const applied = await this.#apply(live === undefined ? wanted : this.ignore(wanted, live));
      const isSame = live === undefined || isDeepStrictEqual(contentOf(live), contentOf(applied));
      if (!isSame) this.putBack.push(`${wanted.kind} ${wanted.metadata.name}`);
    }
  }

  async #live(wanted: GitObject): Promise<Live | undefined> {
    try {
      return await this.admin.get<Live>(pathTo(wanted));
    } catch (error) {
      if (error instanceof GoneError) return undefined;
      throw error;
    }
  }

  #apply(object: GitObject): Promise<Live> {
    const path = pathTo(object);
    return this.admin.api.json<Live>({
      ...{ what: `apply ${path}`, method: "PATCH", path, query: { fieldManager: "argocd-controller", force: true } },
      ...{ body: object, contentType: "application/apply-patch+yaml" },
    });
  }
}

export function pathTo(object: GitObject): string {
  return pathOf(resourceOf(object), object.metadata);
}

/** Metadata that the API server manages. */
const NOTES = ["managedFields", "resourceVersion", "generation"];

/** The desired state of the object: without status and the metadata that the API server manages. */
function contentOf(object: Live): object {
  const copy = structuredClone(object);
  Reflect.deleteProperty(copy, "status");
  for (const note of NOTES) Reflect.deleteProperty(copy.metadata, note);
  return copy;
}
