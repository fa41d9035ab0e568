import { arrayOf, type JsonObject, objectOf } from "../../core/json";
import type { ClusterObjectView } from "../../core/views";
import { serviceAccountUser } from "../../core/text";

/** A ServiceAccount. */
interface Account {
  readonly namespace: string;
  readonly name: string;
}

/**
 * A FlowSchema that matches all resource requests of a ServiceAccount before this one: the API server sorts by matchingPrecedence, then by name
 * (kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/util/apihelpers/helpers.go, FlowSchemaSequence). Pure and total.
 */
export function shadowOf(
  view: ClusterObjectView,
  schemas: readonly ClusterObjectView[],
  account: Account,
): ClusterObjectView | undefined {
  return schemas
    .filter(({ name, deletedAtMs }) => name !== view.name && deletedAtMs === undefined)
    .filter(other => comesFirst(other, view))
    .find(({ spec }) => listIn(spec, "rules").some(rule => takesAll(rule, account)));
}

function comesFirst(a: ClusterObjectView, b: ClusterObjectView): boolean {
  const [first, second] = [precedenceOf(a), precedenceOf(b)];
  return first === second ? a.name < b.name : first < second;
}

/** What the API server defaults. */
const DEFAULT_PRECEDENCE = 1_000;

function precedenceOf({ spec }: ClusterObjectView): number {
  const precedence = spec["matchingPrecedence"];
  return typeof precedence === "number" ? precedence : DEFAULT_PRECEDENCE;
}

function takesAll(rule: JsonObject, account: Account): boolean {
  const isMeant = listIn(rule, "subjects").some(subject => isSubject(subject, account));
  return isMeant && listIn(rule, "resourceRules").some(takesEverything);
}

function takesEverything(resources: JsonObject): boolean {
  const isOfAll = ["verbs", "apiGroups", "resources", "namespaces"].every(field =>
    arrayOf(resources[field]).includes("*"),
  );
  return isOfAll && resources["clusterScope"] === true;
}

function isSubject(subject: JsonObject, { namespace, name }: Account): boolean {
  const serviceAccount = objectOf(subject["serviceAccount"]);
  const groups = ["*", "system:authenticated", "system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  switch (subject["kind"]) {
    case "ServiceAccount":
      return serviceAccount["namespace"] === namespace && ["*", name].includes(String(serviceAccount["name"]));
    case "User":
      return ["*", serviceAccountUser(namespace, name)].includes(String(objectOf(subject["user"])["name"]));
    case "Group":
      return groups.includes(String(objectOf(subject["group"])["name"]));
    default:
      return false;
  }
}

function listIn(object: JsonObject, field: string): JsonObject[] {
  return arrayOf(object[field]).map(objectOf);
}
