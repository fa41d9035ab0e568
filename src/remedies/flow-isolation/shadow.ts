import { FLOW_PREFIX } from "../../api/names";
import { arrayOf, isNamedIn, type JsonObject, objectOf } from "../../core/json";
import { isOwnedName, levelOf, QUARANTINE_LEVEL } from "../../core/owned";
import { type ClusterObjectView, groupBy } from "../../core/views";
import { serviceAccountUser, SYSTEM_NAMESPACE } from "../../core/text";

/** A ServiceAccount. */
type Account = Readonly<Record<"namespace" | "name", string>>;

/** A FlowSchema, as far as its order counts. */
type Ordered = Pick<ClusterObjectView, "name" | "spec">;

/** Requests of a resource that only a star matches: each verb, in a namespace and outside. */
const SAMPLES = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"].flatMap(verb =>
  [true, false].map(isNamespaced => ({ verb, isNamespaced })),
);

/** A FlowSchema that takes a ServiceAccount's requests. */
export interface Shadow {
  readonly view: ClusterObjectView;
  /** Another owner made it for the ServiceAccount: a person has chosen the level of its requests. */
  readonly isChosen: boolean;
  /** It takes some of the requests only; the others are on no flow of their own. */
  readonly isPartial: boolean;
}

/**
 * A FlowSchema that takes all resource requests of a ServiceAccount from this one, alone or with others, since it matches first; or that another
 * owner made for the ServiceAccount, or for all of its namespace, be it for a part of them, and no throttle is to end first: this one would take that part from it. The API
 * server sorts by matchingPrecedence, then by name
 * (kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/util/apihelpers/helpers.go, FlowSchemaSequence). Pure and total.
 */
export function shadowOf(own: Ordered, schemas: readonly ClusterObjectView[], account: Account): Shadow | undefined {
  const isThrottling = levelOf(own) === QUARANTINE_LEVEL;
  const isOther = ({ view }: Naming): boolean => view.name !== own.name && isInEffect(view);
  const named = naming(schemas, namesOf(account)).filter(isOther);
  // By its name: one of the operator's that has lost its labels is no person's choice, and a person's copy has kept them.
  const chosen = named.filter(({ view }) => !isOwnedName(FLOW_PREFIX, view.name));
  const isChosen = (view: ClusterObjectView): boolean => chosen.some(one => one.view === view);
  const others = [...named, ...naming(schemas, groupsOf(account)).filter(isOther)]
    .filter(({ view }) => comesFirst(view, own) || (!isThrottling && isChosen(view)))
    .toSorted((a, b) => Number(comesFirst(b.view, a.view)) - Number(comesFirst(a.view, b.view)));
  const takers = SAMPLES.map(sample => others.find(({ rule }) => takes(rule, sample))?.view);
  const isPartial = takers.includes(undefined);
  const view = isPartial ? others.find(one => !isThrottling && isChosen(one.view))?.view : takers[0];
  return view && { view, isPartial, isChosen: isChosen(view) };
}

/** The API server ignores a FlowSchema whose level does not exist. */
function isInEffect({ deletedAtMs, isDangling }: ClusterObjectView): boolean {
  return deletedAtMs === undefined && isDangling !== true;
}

function comesFirst(a: Ordered, b: Ordered): boolean {
  const [first, second] = [precedenceOf(a), precedenceOf(b)];
  return first === second ? a.name < b.name : first < second;
}

/** What the API server defaults. */
const DEFAULT_PRECEDENCE = 1_000;

function precedenceOf({ spec }: Ordered): number {
  const precedence = spec["matchingPrecedence"];
  return typeof precedence === "number" ? precedence : DEFAULT_PRECEDENCE;
}

function takes(rule: JsonObject, { verb, isNamespaced }: (typeof SAMPLES)[number]): boolean {
  return listIn(rule, "resourceRules")
    .filter(({ namespaces, clusterScope }) => (isNamespaced ? hasStar(namespaces) : clusterScope === true))
    .filter(({ apiGroups, resources }) => hasStar(apiGroups) && hasStar(resources))
    .some(({ verbs }) => isNamedIn(arrayOf(verbs), verb));
}

function hasStar(values: unknown): boolean {
  return arrayOf(values).includes("*");
}

/** A rule of a FlowSchema, and a subject that it names. */
interface Naming {
  readonly id: string;
  readonly view: ClusterObjectView;
  readonly rule: JsonObject;
}

/** By subject. A cache returns the same array until it changes, and every ServiceAccount of every object asks for its FlowSchemas. */
const known = new WeakMap<readonly ClusterObjectView[], ReadonlyMap<string, readonly Naming[]>>();

/** The rules that name one of the subjects. */
function naming(schemas: readonly ClusterObjectView[], ids: readonly string[]): Naming[] {
  const all = (view: ClusterObjectView): Naming[] =>
    listIn(view.spec, "rules").flatMap(rule =>
      listIn(rule, "subjects").map(subject => ({ id: idOf(subject), view, rule })),
    );
  const bySubject = known.get(schemas) ?? groupBy(schemas.flatMap(all), ({ id }) => id);
  known.set(schemas, bySubject);
  return ids.flatMap(id => bySubject.get(id) ?? []);
}

/** `ServiceAccount team/app`, `User /kai` or `Group /system:authenticated`. */
function idOf({ kind, serviceAccount, user, group }: JsonObject): string {
  const { namespace = "", name } = objectOf(serviceAccount ?? user ?? group);
  return `${String(kind)} ${String(namespace)}/${String(name)}`;
}

/** All of kube-system is named by a built-in FlowSchema. */
function namesOf({ namespace, name }: Account): string[] {
  const own = [`ServiceAccount ${namespace}/${name}`, `User /${serviceAccountUser(namespace, name)}`];
  return namespace === SYSTEM_NAMESPACE ? own : [...own, ...wholeOf(namespace)];
}

function groupsOf({ namespace }: Account): string[] {
  const everybody = ["*", "system:authenticated", "system:serviceaccounts"].map(group => `Group /${group}`);
  return [...(namespace === SYSTEM_NAMESPACE ? wholeOf(namespace) : []), "User /*", ...everybody];
}

function wholeOf(namespace: string): string[] {
  return [`ServiceAccount ${namespace}/*`, `Group /system:serviceaccounts:${namespace}`];
}

function listIn(object: JsonObject, field: string): JsonObject[] {
  return arrayOf(object[field]).map(objectOf);
}
