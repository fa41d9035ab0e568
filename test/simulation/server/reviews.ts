import { objectOf, parseObject, textOf } from "../../../src/core/json";
import type { Identity } from "./access";
import { Refusal } from "./objects";
import type { Attributes } from "./rbac";
import type { Ask } from "./request";
import type { Served, World } from "./serve";
import { badRequest } from "./validation";

/** A review that is created and not stored. */
export interface Review {
  readonly ask: Ask;
  readonly identity: Identity;
  readonly body: string | undefined;
}

const REVIEWS: Readonly<Record<string, string>> = {
  "authorization.k8s.io/v1/selfsubjectaccessreviews": "SelfSubjectAccessReview",
  "authorization.k8s.io/v1/selfsubjectrulesreviews": "SelfSubjectRulesReview",
  "authentication.k8s.io/v1/selfsubjectreviews": "SelfSubjectReview",
};

/** The kind of a review; undefined for any other resource. */
export function reviewKind({ group = "", version = "", resource = "" }: Ask): string | undefined {
  return REVIEWS[`${group}/${version}/${resource}`];
}

/** Answers a review. @throws Refusal 400 */
export function review(world: World, kind: string, { ask, identity, body = "" }: Review): Served {
  const object = parseObject(body);
  if (object === undefined) throw badRequest("the body of the request was empty");
  const spec = objectOf(object["spec"]);
  const status = statusOf(world, kind, { identity, spec });
  const metadata =
    kind === "SelfSubjectReview" ? { creationTimestamp: world.store.time() } : { creationTimestamp: null };
  const answer = {
    kind,
    apiVersion: `${ask.group ?? ""}/${ask.version ?? ""}`,
    metadata,
    ...(kind !== "SelfSubjectReview" && { spec }),
    status,
  };
  return { code: 201, body: JSON.stringify(answer) };
}

function statusOf(
  { access }: World,
  kind: string,
  { identity, spec }: { identity: Identity; spec: Readonly<Record<string, unknown>> },
): object {
  if (kind === "SelfSubjectReview") {
    const { user: username, groups, uid } = identity;
    return { userInfo: { username, ...(uid !== undefined && { uid }), groups } };
  }
  if (kind === "SelfSubjectRulesReview") {
    const rules = access.rbac.rulesOf(identity, textOf(spec["namespace"]));
    const resourceRules = rules.filter(({ resources }) => resources !== undefined);
    const nonResourceRules = rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined);
    return { resourceRules, nonResourceRules, incomplete: false };
  }
  return { allowed: access.authorize(identity, attributesIn(spec)) };
}

function empty(): Refusal {
  const message = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
  const causes = [{ reason: "FieldValueInvalid", message, field: "spec.resourceAttributes" }];
  const details = { group: "authorization.k8s.io", causes };
  return new Refusal(
    422,
    "Invalid",
    `.authorization.k8s.io "" is invalid: spec.resourceAttributes: ${message}`,
    details,
  );
}

function attributesIn(spec: Readonly<Record<string, unknown>>): Attributes {
  const { resourceAttributes: ofResource, nonResourceAttributes: ofPath } = spec;
  if (ofResource === undefined && ofPath === undefined) throw empty();
  const asked = Object.entries(objectOf(ofResource ?? ofPath)).filter(([, value]) => value !== "");
  return {
    verb: "",
    ...(ofPath === undefined ? { group: "", resource: "" } : { path: "" }),
    ...Object.fromEntries(asked),
  };
}
