import type { Permission } from "../core/intent";
import type { Api } from "./api";
import { objectOf } from "./json";
import { pathOf, RESOURCES } from "./resources";

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
  const questions = permissions.flatMap(permission => permission.verbs.map(verb => ({ permission, verb })));
  const answers = await Promise.all(
    questions.map(async ({ permission, verb }) =>
      (await isAllowed(api, permission, verb, namespace)) ? [] : [describeMissing(permission, verb, namespace)],
    ),
  );
  return answers.flat();
}

async function isAllowed(
  api: Api,
  permission: Permission,
  verb: string,
  namespace: string | undefined,
): Promise<boolean> {
  const [resource, subresource] = permission.resource.split("/");
  const attributes = { group: permission.apiGroup, resource, subresource, verb, namespace };
  const review = await api.json({
    what: "create selfsubjectaccessreviews",
    method: "POST",
    path: pathOf(RESOURCES.selfSubjectAccessReviews),
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: attributes },
    },
  });
  return objectOf(objectOf(review)["status"])["allowed"] === true;
}

function describeMissing(permission: Permission, verb: string, namespace: string | undefined): string {
  const resource = permission.apiGroup === "" ? permission.resource : `${permission.resource}.${permission.apiGroup}`;
  const where = namespace === undefined ? "in all namespaces" : `in namespace ${namespace}`;
  return `may not ${verb} ${resource} ${where}: ${permission.why}`;
}
