import type { Clock } from "../core/clock";
import type { Permission } from "../core/intent";
import type { Right } from "../core/readers";
import type { Api } from "./api";
import { objectOf } from "./json";
import { pathOf, RESOURCES } from "./resources";

/** How long an answer is good for, in milliseconds: a right that was given is seen by the next timed pass. */
const REMEMBERED_MS = 30_000;

/** Answers that are kept at most; beyond it all are asked anew. */
const MAX_REMEMBERED = 2_000;

/** What the operator may do, asked of the API server by SelfSubjectAccessReview, and not again for half a minute. */
export class OwnRights {
  readonly #api: Pick<Api, "json">;
  readonly #clock: Clock;
  readonly #answers = new Map<string, { readonly allowed: Promise<boolean>; readonly untilMs: number }>();

  constructor(api: Pick<Api, "json">, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** Whether the operator has that right. @throws whatever the client throws */
  async may(right: Right): Promise<boolean> {
    const { name, ...any } = right;
    // Whoever looks after hundreds of objects asks once. Of `bind` nobody should have more than was given by name.
    if (name !== undefined && right.verb !== "bind" && (await this.#ask(any))) return true;
    return this.#ask(right);
  }

  #ask(right: Right): Promise<boolean> {
    const { apiGroup, resource, verb, name, namespace } = right;
    const id = JSON.stringify([apiGroup, resource, verb, name, namespace]);
    const nowMs = this.#clock.monotonicMs();
    const known = this.#answers.get(id);
    if (known !== undefined && nowMs < known.untilMs) return known.allowed;
    const allowed = isAllowed(this.#api, right);
    if (this.#answers.size >= MAX_REMEMBERED) this.#answers.clear();
    this.#answers.set(id, { allowed, untilMs: nowMs + REMEMBERED_MS });
    // What was not answered is asked again.
    allowed.catch(() => void this.#answers.delete(id));
    return allowed;
  }
}

/**
 * Asks the API server which of these permissions the operator lacks: one line each, in words. Empty when it has all.
 *
 * @param namespace where the permissions have to hold; absent: in all namespaces
 */
export async function missingRights(
  api: Api,
  permissions: readonly Permission[],
  namespace?: string,
): Promise<string[]> {
  const where = namespace === undefined ? {} : { namespace };
  const questions = permissions.flatMap(permission => permission.verbs.map(verb => ({ permission, verb })));
  const answers = await Promise.all(
    questions.map(async ({ permission, verb }) => {
      const { apiGroup, resource, url } = permission;
      const right = url === undefined ? { apiGroup, resource, verb, ...where } : { url, verb };
      const allowed = await isAllowed(api, right);
      return allowed ? [] : [describeMissing(permission, verb, namespace)];
    }),
  );
  return answers.flat();
}

async function isAllowed(
  api: Pick<Api, "json">,
  right: Right | { readonly url: string; readonly verb: string },
): Promise<boolean> {
  const review = await api.json({
    what: "create selfsubjectaccessreviews",
    method: "POST",
    path: pathOf(RESOURCES.selfSubjectAccessReviews),
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: attributesOf(right),
    },
  });
  return objectOf(objectOf(review)["status"])["allowed"] === true;
}

function attributesOf(right: Right | { readonly url: string; readonly verb: string }): object {
  if ("url" in right) return { nonResourceAttributes: { path: right.url, verb: right.verb } };
  const { apiGroup: group, verb, name, namespace } = right;
  const [resource, subresource] = right.resource.split("/");
  return { resourceAttributes: { group, resource, subresource, verb, name, namespace } };
}

function describeMissing(permission: Permission, verb: string, namespace: string | undefined): string {
  if (permission.url !== undefined) return `may not ${verb} ${permission.url}: ${permission.why}`;
  const resource = permission.apiGroup === "" ? permission.resource : `${permission.resource}.${permission.apiGroup}`;
  const where = namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
  return `may not ${verb} ${resource} ${where}: ${permission.why}`;
}
