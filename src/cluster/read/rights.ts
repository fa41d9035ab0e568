import type { Clock } from "../../core/clock";
import type { Permission } from "../../core/intent";
import type { Right } from "../../core/readers";
import type { Api } from "../http/api";
import { objectOf } from "../../core/json";
import { pathOf } from "../http/resources";
import { KINDS } from "../../core/kinds";

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

type AskedRight = Right | { readonly url: string; readonly verb: string };

/** A permission, where it has to hold, and for whom. */
export interface Need extends Permission {
  /** Absent: in all namespaces. */
  readonly namespace?: string;
  /** What would not work without it, such as a block of the spec. */
  readonly by: string;
}

/** What was answered so far, by what was asked. */
export type Answers = Map<string, boolean>;

/** Asked at once: in many namespaces it is thousands, and nothing else is to wait for them, nor to run out of time behind them. */
const ASKED_AT_ONCE = 2;

/**
 * Asks the API server what the operator lacks of what it needs: one sentence for each need. Empty when it has all.
 *
 * @param answers what need not be asked again; each answer is added, so that one that fails costs no more than itself
 * @throws whatever the client throws
 */
export async function missingRights(
  api: Pick<Api, "json">,
  needs: readonly Need[],
  answers: Answers = new Map(),
): Promise<string[]> {
  // Remedies have many rights in common: each is asked for once.
  const rights = needs.flatMap(need => need.verbs.map(verb => rightOf(need, verb)));
  const left = [...new Map(rights.map(right => [idOf(right), right]))].filter(([id]) => !answers.has(id));
  const askOn = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [id, right] = next;
      answers.set(id, await isAllowed(api, right));
    }
  };
  try {
    await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askOn));
  } finally {
    // Where one has failed, the other is not to go on alone.
    left.length = 0;
  }
  return needs.flatMap(need => {
    const missing = need.verbs.filter(verb => answers.get(idOf(rightOf(need, verb))) !== true);
    return missing.length === 0 ? [] : [describeMissing(need, missing)];
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

async function isAllowed(api: Pick<Api, "json">, right: AskedRight): Promise<boolean> {
  const review = await api.json({
    what: "create selfsubjectaccessreviews",
    method: "POST",
    path: pathOf(KINDS.SelfSubjectAccessReview),
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: attributesOf(right),
    },
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
