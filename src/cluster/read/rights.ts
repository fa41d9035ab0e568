import type { Clock } from "../../core/time";
import type { Right } from "../../core/readers";
import type { Api } from "../http/api";
import { objectOf } from "../../core/json";
import { callOf } from "../http/resources";
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

async function isAllowed(api: Pick<Api, "json">, right: Right, user?: ReviewedUser): Promise<boolean> {
  const { apiGroup: group, verb, name, namespace } = right;
  const [plural, subresource] = right.resource.split("/");
  const resourceAttributes = { group, resource: plural, subresource, verb, name, namespace };
  const kind = user === undefined ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const resource = { ...KINDS.SelfSubjectAccessReview, plural: `${kind.toLowerCase()}s` };
  const review = await api.json({
    ...callOf("create", resource),
    body: { apiVersion: apiVersionOf(resource), kind, spec: { ...user, resourceAttributes } },
  });
  return objectOf(objectOf(review)["status"])["allowed"] === true;
}
