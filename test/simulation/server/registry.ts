import { arrayOf, objectOf } from "../../../src/core/json";
import { defaultBuiltIn, defaultNewPod } from "./defaults";
import type { KindInfo } from "./kinds";
import { recordUpdate } from "./managed-fields";
import { type By, clone, type Condition, type Obj, same } from "./objects";
import { applyDefaults, builtInSchema, customSchema, prune, type Schema } from "./schema";
import type { Store } from "./store";
import { forbidden } from "./validation";

// What registries and built-in admission do to objects of any writer.

/** Kinds of which the operator reads who wrote what, and when. */
const RECORDED = new Set([
  ...["daemonsets", "deployments", "statefulsets", "rolebindings", "clusterrolebindings"],
  ...["flowschemas", "prioritylevelconfigurations", "events", "controllerresiliences", "clustercontrollerresiliences"],
]);

/** The fields of a kind. */
export function schemaOf({ isCustom, kind, plural }: KindInfo, store: Store): Schema {
  if (isCustom !== true) return builtInSchema(kind);
  const definition = store.definition(plural);
  return definition === undefined ? { type: "any" } : customSchema(definition);
}

/** Adds or counts the template generation of a DaemonSet, which its controller writes on its pods as a label. */
const GENERATION = "deprecated.daemonset.template.generation";

function countTemplates(draft: Obj, old?: Obj): void {
  const before = Number(old?.metadata.annotations?.[GENERATION] ?? 0);
  const count = old !== undefined && same(draft.spec?.template, old.spec?.template) ? before : before + 1;
  draft.metadata.annotations = { ...draft.metadata.annotations, [GENERATION]: String(count) };
}

/** The admission plugin ServiceAccount: a pod needs its account. The simulated cluster itself adds the volume of the token. */
function admitPod({ metadata: { namespace = "", name }, spec }: Obj, info: KindInfo, store: Store): void {
  const account = spec?.serviceAccountName ?? "";
  if (store.get("serviceaccounts", namespace, account) !== undefined) return;
  const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`;
  throw forbidden(info, name, why);
}

/** The definition is served at once. */
function establish(draft: Obj, store: Store): void {
  const lastTransitionTime = store.time();
  const is = (type: string, reason: string): Condition => ({ type, status: "True", reason, lastTransitionTime });
  const { names, versions } = objectOf(draft.spec);
  draft.status ??= {
    conditions: [is("NamesAccepted", "NoConflicts"), is("Established", "InitialNamesAccepted")],
    acceptedNames: names,
    storedVersions: arrayOf(versions).map(version => objectOf(version)["name"]),
  };
}

/** A namespace that goes takes nothing new (admission plugin NamespaceLifecycle). */
function refuseInEnding({ metadata: { name, namespace } }: Obj, info: KindInfo, store: Store): void {
  if (!info.isNamespaced || namespace === undefined) return;
  if (store.get("namespaces", undefined, namespace)?.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const message = `namespace ${namespace} is being terminated`;
  throw forbidden(info, name, why, [{ reason: "NamespaceTerminating", message, field: "metadata.namespace" }]);
}

function prepare(draft: Obj, info: KindInfo, store: Store): void {
  if (info.isCustom !== true) {
    defaultBuiltIn(info.plural, draft);
    return;
  }
  const schema = schemaOf(info, store);
  prune(draft, schema);
  applyDefaults(draft, schema);
}

/** Custom resources as their definition of that time shows them. */
const shown = new WeakMap<Obj, { readonly schema: Schema; readonly object: Obj }>();

/** An object as it is read: etcd keeps what an earlier definition allowed, and the present one prunes and defaults it. */
export function asServed(object: Obj, info: KindInfo, store: Store): Obj {
  if (info.isCustom !== true) return object;
  const schema = schemaOf(info, store);
  const known = shown.get(object);
  if (known?.schema === schema) return known.object;
  const draft = clone(object);
  prune(draft, schema);
  applyDefaults(draft, schema);
  const served = same(draft, object) ? object : draft;
  shown.set(object, { schema, object: served });
  return served;
}

/** Records who changed what. */
export function record(
  { draft, old, by }: { readonly draft: Obj; readonly old: Obj | undefined; readonly by: By },
  info: KindInfo,
  store: Store,
): void {
  const isAdmin = by.manager === "admin";
  const isQuiet = isAdmin && !RECORDED.has(info.plural) && old?.metadata.managedFields === undefined;
  if (by.operation === "Apply" || isQuiet) return;
  const hasStatus = info.subresources.includes("status") && !isAdmin;
  recordUpdate(draft, old, by, { schema: schemaOf(info, store), now: store.time(), hasStatus });
}

/** Fills in the defaults of a new object. @throws Refusal 403 */
export function begin(draft: Obj, info: KindInfo, store: Store): void {
  refuseInEnding(draft, info, store);
  prepare(draft, info, store);
  if (info.plural === "daemonsets") countTemplates(draft);
  if (info.plural === "customresourcedefinitions") establish(draft, store);
}

/** Sets what a client may not, after a change of an object. */
export function revised(draft: Obj, old: Obj, info: KindInfo, store: Store): void {
  prepare(draft, info, store);
  if (info.plural === "daemonsets") countTemplates(draft, old);
}

/** What admission adds to a new object, which has no owner. @throws Refusal 403 */
export function admit(draft: Obj, info: KindInfo, store: Store): void {
  if (info.plural !== "pods") return;
  defaultNewPod(draft);
  admitPod(draft, info, store);
}
