import { isDeepStrictEqual } from "node:util";
import { pathOf, resourceOf } from "../../src/cluster/http/resources";
import { GoneError } from "../../src/core/errors";
import type { Admin } from "../cluster/admin";

/** What stands in Git. */
export interface GitObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace: string; readonly name: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** An object as the API server has it. */
type Live = GitObject & { readonly status?: unknown };

/** Makes of what Git says what is applied, given what is there: what `ignoreDifferences` does with RespectIgnoreDifferences=true. */
export type Ignore = (wanted: GitObject, live: Live) => GitObject;

/**
 * Applies what stands in Git, again and again, as Argo CD does: by server-side apply as its field manager, with force. What it had to change is what
 * Argo CD calls drift. Nothing of Argo CD itself runs here.
 */
export class GitOps {
  /** Kind and name of each object that was not as Git has it, once for each time it was put back. */
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

/** Where it is. */
export function pathTo(object: GitObject): string {
  return pathOf(resourceOf(object), object.metadata);
}

/** What the API server notes of an object. */
const NOTES = ["managedFields", "resourceVersion", "generation"];

/** All that somebody wants of it; not what the API server notes, nor what is seen of it. */
function contentOf(object: Live): object {
  const copy = structuredClone(object);
  Reflect.deleteProperty(copy, "status");
  for (const note of NOTES) Reflect.deleteProperty(copy.metadata, note);
  return copy;
}
