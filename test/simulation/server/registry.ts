import { arrayOf, objectOf } from "../../../src/core/json";
import { defaultBuiltIn, defaultNewPod } from "./defaults";
import type { KindInfo } from "./kinds";
import { recordUpdate } from "./managed-fields";
import { type By, clone, type Obj, Refusal, same } from "./objects";
import { applyDefaults, builtInSchema, customSchema, prune, type Schema } from "./schema";
import type { Store, Strategy } from "./store";

// What registries and built-in admission do to objects of any writer.

/** Kinds of which the operator reads who wrote what, and when. */
const RECORDED = new Set([
  ...["daemonsets", "deployments", "statefulsets", "rolebindings", "clusterrolebindings"],
  ...["flowschemas", "prioritylevelconfigurations", "events", "controllerresiliences", "clustercontrollerresiliences"],
]);

/** The fields of a kind. */
export function schemaOf({ isCustom, kind, plural }: KindInfo, store: Store): Schema {
  if (isCustom !== true) return builtInSchema(kind);
  const definition = definitionOf(plural, store);
  return definition === undefined ? { type: "any" } : customSchema(definition);
}

function definitionOf(plural: string, store: Store): Obj | undefined {
  return store
    .list("customresourcedefinitions")
    .find(({ spec }) => objectOf(objectOf(spec)["names"])["plural"] === plural);
}

/** Adds or counts the template generation of a DaemonSet, which its controller writes on its pods as a label. */
const GENERATION = "deprecated.daemonset.template.generation";

function countTemplates(draft: Obj, old?: Obj): void {
  const before = Number(old?.metadata.annotations?.[GENERATION] ?? 0);
  const [next, last] = [objectOf(draft["spec"])["template"], objectOf(old?.["spec"])["template"]];
  const count = old !== undefined && same(next, last) ? before : before + 1;
  draft.metadata.annotations = { ...draft.metadata.annotations, [GENERATION]: String(count) };
}

/** The admission plugin ServiceAccount: a pod needs its account. The simulated cluster itself adds the volume of the token. */
function admitPod(pod: Obj, store: Store): void {
  const { namespace, name } = pod.metadata;
  const spec = objectOf(pod["spec"]);
  const accountName = String(spec["serviceAccountName"]);
  const account = store.get("serviceaccounts", namespace, accountName);
  if (account === undefined) {
    const why = `error looking up service account ${namespace ?? ""}/${accountName}: serviceaccount "${accountName}" not found`;
    throw new Refusal(403, "Forbidden", `pods "${name}" is forbidden: ${why}`, { name, kind: "pods" });
  }
}

/** The definition is served at once. */
function establish(draft: Obj, store: Store): void {
  const lastTransitionTime = store.time();
  const condition = (type: string, reason: string): object => ({ type, status: "True", reason, lastTransitionTime });
  const { names, versions } = objectOf(draft["spec"]);
  draft["status"] ??= {
    conditions: [condition("NamesAccepted", "NoConflicts"), condition("Established", "InitialNamesAccepted")],
    acceptedNames: names,
    storedVersions: arrayOf(versions).map(version => objectOf(version)["name"]),
  };
}

/** A namespace that goes takes nothing new (admission plugin NamespaceLifecycle). */
function refuseInEnding({ metadata: { name, namespace } }: Obj, info: KindInfo, store: Store): void {
  if (!info.isNamespaced || namespace === undefined) return;
  if (store.get("namespaces", undefined, namespace)?.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const causes = [
    {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    },
  ];
  const details = { name, ...(info.group && { group: info.group }), kind: info.plural, causes };
  throw new Refusal(
    403,
    "Forbidden",
    `${info.plural}${info.group && `.${info.group}`} "${name}" is forbidden: ${why}`,
    details,
  );
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

function recorderOf(info: KindInfo, store: Store): NonNullable<Strategy["record"]> {
  return (draft: Obj, old: Obj | undefined, by: By, now: string): void => {
    if (by.operation === "Apply") return;
    const hasStatus = info.subresources.includes("status") && by.manager !== "admin";
    const isQuiet = by.manager === "admin" && !RECORDED.has(info.plural) && old?.metadata.managedFields === undefined;
    if (!isQuiet) recordUpdate(draft, old, by, { schema: schemaOf(info, store), now, hasStatus });
  };
}

const known = new WeakMap<Store, Map<string, Strategy>>();

/** What the registry of a kind does. */
export function strategyOf(info: KindInfo, store: Store): Strategy {
  const strategies = known.get(store) ?? new Map<string, Strategy>();
  known.set(store, strategies);
  const found = strategies.get(info.plural);
  if (found !== undefined) return found;
  const strategy: Strategy = {
    create: draft => {
      refuseInEnding(draft, info, store);
      prepare(draft, info, store);
      if (info.plural === "daemonsets") countTemplates(draft);
      if (info.plural === "customresourcedefinitions") establish(draft, store);
    },
    admit: draft => {
      if (info.plural !== "pods") return;
      defaultNewPod(draft);
      admitPod(draft, store);
    },
    update: (draft, old) => {
      prepare(draft, info, store);
      if (info.plural === "daemonsets") countTemplates(draft, old);
    },
    record: recorderOf(info, store),
  };
  strategies.set(info.plural, strategy);
  return strategy;
}
