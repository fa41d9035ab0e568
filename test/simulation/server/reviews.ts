import { objectOf, parseObject, textOf } from "../../../src/core/json";
import type { Access, Identity } from "./access";
import type { Attributes } from "./rbac";
import type { Ask } from "./request";
import type { Allowed, Served, World } from "./serve";

const REVIEWS: Readonly<Record<string, string>> = {
  "authorization.k8s.io/v1/selfsubjectaccessreviews": "SelfSubjectAccessReview",
  "authorization.k8s.io/v1/selfsubjectrulesreviews": "SelfSubjectRulesReview",
};

/** The kind of a review; undefined for any other resource. */
export function reviewKind({ group = "", version = "", resource = "" }: Ask): string | undefined {
  return REVIEWS[`${group}/${version}/${resource}`];
}

/** Answers a review. */
export function review({ access }: World, kind: string, { ask, identity, body = "" }: Allowed): Served {
  const spec = objectOf(parseObject(body)?.["spec"]);
  const status =
    kind === "SelfSubjectRulesReview"
      ? rulesOf(access, identity, textOf(spec["namespace"]))
      : { allowed: access.authorize(identity, attributesIn(spec)) };
  const apiVersion = `${ask.group ?? ""}/${ask.version ?? ""}`;
  const answer = { kind, apiVersion, metadata: { creationTimestamp: null }, spec, status };
  return { code: 201, body: JSON.stringify(answer) };
}

function rulesOf(access: Access, identity: Identity, namespace: string | undefined): object {
  const rules = access.rbac.rulesOf(identity, namespace);
  const resourceRules = rules.filter(({ resources }) => resources !== undefined);
  const nonResourceRules = rules.filter(({ nonResourceURLs }) => nonResourceURLs !== undefined);
  return { resourceRules, nonResourceRules, incomplete: false };
}

function attributesIn(spec: Readonly<Record<string, unknown>>): Attributes {
  const { resourceAttributes: ofResource, nonResourceAttributes: ofPath } = spec;
  const asked = Object.entries(objectOf(ofResource ?? ofPath)).filter(([, value]) => value !== "");
  return {
    verb: "",
    ...(ofPath === undefined ? { group: "", resource: "" } : { path: "" }),
    ...Object.fromEntries(asked),
  };
}
