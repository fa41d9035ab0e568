import type { Clock } from "../../core/time";
import type { Permission } from "../../core/intent";
import type { Right } from "../../core/readers";
import type { Api } from "../http/api";
import { objectOf } from "../../core/json";
import { describeCall, pathOf } from "../http/resources";
import { apiVersionOf, KINDS } from "../../core/kinds";

/** Reviews are cached for this time, in milliseconds: the next full pass sees a new permission. */
const REMEMBERED_MS = 30_000;

/** Beyond this number of cached reviews, the cache is cleared. */
const MAX_REMEMBERED = 2_000;

/** Another user whose rights are reviewed. */
export interface ReviewedUser {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Reviews the client's own rights, or those of another user, with a cache. */
export class Rights {
  readonly #api: Pick<Api, "json">;
  readonly #clock: Clock;
  readonly #answers = new Map<string, { readonly allowed: Promise<boolean>; readonly untilMs: number }>();

  readonly #user: ReviewedUser | undefined;

  constructor(api: Pick<Api, "json">, clock: Clock, user?: ReviewedUser) {
    this.#api = api;
    this.#clock = clock;
    this.#user = user;
  }

  /** Reports whether the user has the permission. @throws any error of the client */
  async may(right: Right): Promise<boolean> {
    const { name, ...any } = right;
    // Without the name one review covers hundreds of objects. `bind` should only be granted by name.
    if (name !== undefined && right.verb !== "bind" && (await this.#ask(any))) return true;
    return this.#ask(right);
  }

  #ask(right: Right): Promise<boolean> {
    const { apiGroup, resource, verb, name, namespace } = right;
    const id = JSON.stringify([apiGroup, resource, verb, name, namespace]);
    const nowMs = this.#clock.monotonicMs();
    const known = this.#answers.get(id);
    if (known !== undefined && nowMs < known.untilMs) return known.allowed;
    const allowed = isAllowed(this.#api, right, this.#user);
    if (this.#answers.size >= MAX_REMEMBERED) this.#answers.clear();
    this.#answers.set(id, { allowed, untilMs: nowMs + REMEMBERED_MS });
    // Failed reviews are not cached.
    allowed.catch(() => void this.#answers.delete(id));
    return allowed;
  }
}

type AskedRight = Right | { readonly url: string; readonly verb: string };

export interface Need extends Permission {
  /** Absent: in all namespaces. */
  readonly namespace?: string;
  /** What does not work without it, such as a block of the spec. */
  readonly by: string;
}

/** Results of reviews by what was reviewed. */
export type Answers = Map<string, boolean>;

/** A need that is not met, as a sentence. */
export interface MissingRight {
  readonly sentence: string;
  /** See {@link Permission}. */
  readonly grantedBy?: string;
}

/**
 * Reviews the needed permissions, one after the other, since in many namespaces there are thousands. Returns those that are missing.
 *
 * @param answers earlier results, which are not requested again; new results are added
 * @throws any error of the client
 */
export async function missingRights(
  api: Pick<Api, "json">,
  needs: readonly Need[],
  answers: Answers = new Map(),
): Promise<MissingRight[]> {
  // Remedies share many permissions: each is reviewed once.
  const rights = needs.flatMap(need => need.verbs.map(verb => rightOf(need, verb)));
  for (const right of rights) if (!answers.has(idOf(right))) answers.set(idOf(right), await isAllowed(api, right));
  return needs.flatMap(need => {
    const missing = need.verbs.filter(verb => answers.get(idOf(rightOf(need, verb))) !== true);
    if (missing.length === 0) return [];
    const { grantedBy } = need;
    return [{ sentence: describeMissing(need, missing), ...(grantedBy === undefined ? {} : { grantedBy }) }];
  });
}

function idOf(right: AskedRight): string {
  return JSON.stringify(right);
}

function rightOf(need: Need, verb: string): AskedRight {
  const { apiGroup, resource, url, namespace, name } = need;
  if (url !== undefined) return { url, verb };
  return {
    apiGroup,
    resource,
    verb,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
}

async function isAllowed(api: Pick<Api, "json">, right: AskedRight, user?: ReviewedUser): Promise<boolean> {
  const kind = user === undefined ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const resource = { ...KINDS.SelfSubjectAccessReview, plural: `${kind.toLowerCase()}s` };
  const review = await api.json({
    what: describeCall("create", resource),
    method: "POST",
    path: pathOf(resource),
    body: { apiVersion: apiVersionOf(resource), kind, spec: { ...user, ...attributesOf(right) } },
  });
  return objectOf(objectOf(review)["status"])["allowed"] === true;
}

function attributesOf(right: AskedRight): object {
  if ("url" in right) return { nonResourceAttributes: { path: right.url, verb: right.verb } };
  const { apiGroup: group, verb, name, namespace } = right;
  const [resource, subresource] = right.resource.split("/");
  return { resourceAttributes: { group, resource, subresource, verb, name, namespace } };
}

function describeMissing(need: Need, verbs: readonly string[]): string {
  return `may not ${verbs.join(", ")} ${objectsOf(need)}; ${need.by}: ${need.why}`;
}

function objectsOf({ apiGroup, resource, url, namespace, name }: Need): string {
  if (url !== undefined) return url;
  const where = namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
  return [apiGroup === "" ? resource : `${resource}.${apiGroup}`, name, where].filter(Boolean).join(" ");
}
