import { OwnRights } from "../../../cluster/read/rights";
import { MANAGER } from "../../../api/names";
import { ForbiddenError } from "../../../core/errors";
import { objectOf } from "../../../core/json";
import type { Right } from "../../../core/readers";
import type { Session } from "../session";

const REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/** Asks what the operator's ServiceAccount may do. */
export class OperatorRights {
  readonly #session: Session;
  readonly #user: string;
  readonly #isInstalled: boolean;
  readonly #onUnknown: (why: string) => void;
  readonly #answers = new Map<string, Promise<boolean>>();
  readonly #own: OwnRights;

  /** @param onUnknown called once if the user may not ask; then the user's own rights stand for the operator's */
  constructor(
    session: Session,
    operator: { readonly namespace: string; readonly isInstalled: boolean },
    onUnknown: (why: string) => void,
  ) {
    this.#session = session;
    this.#user = operatorUser(operator.namespace);
    this.#isInstalled = operator.isInstalled;
    this.#onUnknown = onUnknown;
    this.#own = new OwnRights(session.api, session.clock);
  }

  may(right: Right): Promise<boolean> {
    // The chart grants what remedies need, but `bind`, which an administrator grants for each role.
    if (!this.#isInstalled) return Promise.resolve(right.verb !== "bind");
    const id = JSON.stringify(right);
    const answer = this.#answers.get(id) ?? this.#ask(right);
    this.#answers.set(id, answer);
    return answer;
  }

  async #ask(right: Right): Promise<boolean> {
    const [resource, subresource] = right.resource.split("/");
    const { apiGroup: group, verb, name, namespace } = right;
    const resourceAttributes = { group, resource, subresource, verb, name, namespace };
    try {
      const review = await this.#session.api.json<object>({
        what: "create subjectaccessreviews",
        method: "POST",
        path: REVIEWS,
        body: {
          apiVersion: "authorization.k8s.io/v1",
          kind: "SubjectAccessReview",
          spec: { user: this.#user, groups: groupsOf(this.#user), resourceAttributes },
        },
      });
      return objectOf(objectOf(review)["status"])["allowed"] === true;
    } catch (error) {
      if (!(error instanceof ForbiddenError)) throw error;
      this.#onUnknown("rights of the operator: you may not review them (403); your own stand for them");
      return this.#own.may(right);
    }
  }
}

/** The user name of the operator's ServiceAccount. */
export function operatorUser(namespace: string): string {
  return `system:serviceaccount:${namespace}:${MANAGER}`;
}

function groupsOf(user: string): string[] {
  const [, , namespace = ""] = user.split(":");
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}
