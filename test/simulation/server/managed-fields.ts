import { isObject } from "../../../src/core/json";
import { type By, clone, type ManagedFields, type Obj, same } from "./objects";
import { isGranular, type Schema } from "./schema";

// Who owns which field: metadata.managedFields, and server-side apply (kubernetes-sigs/structured-merge-diff).

/** A set of fields, as FieldsV1 writes it: `f:name`, `k:{"name":"x"}`, `v:"x"`, and `.` for the value itself. */
export interface Fields {
  [step: string]: Fields;
}

type Values = Record<string, unknown>;

const ANY: Schema = { type: "any" };

/** What no manager owns. */
const STRIPPED = new Set(["apiVersion", "kind"]);
const OWN_META = [
  "name",
  "namespace",
  "creationTimestamp",
  "uid",
  "generation",
  "managedFields",
  "resourceVersion",
  "generateName",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
];

/** Structs that exist also in an empty object of Go: adding to them adds them not. */
const ALWAYS = new Set([
  "f:metadata",
  "f:spec",
  "f:status",
  "f:template",
  "f:containers",
  "f:strategy",
  "f:updateStrategy",
]);

/** The children of a granular value, by the steps that lead to them. */
function childrenOf(value: unknown, schema: Schema): Map<string, { value: unknown; schema: Schema }> {
  const found = new Map<string, { value: unknown; schema: Schema }>();
  if (Array.isArray(value)) {
    const { items = ANY, keys } = schema;
    for (const item of value as unknown[]) found.set(stepOfItem(item, keys), { value: item, schema: items });
  } else if (isObject(value)) {
    for (const name of Object.keys(value)) {
      const field = schema.type === "struct" ? (schema.fields?.get(name) ?? ANY) : (schema.items ?? ANY);
      found.set(`f:${name}`, { value: value[name], schema: field });
    }
  }
  return found;
}

function stepOfItem(item: unknown, keys: readonly string[] | undefined): string {
  if (keys === undefined) return `v:${JSON.stringify(item)}`;
  const fields = isObject(item) ? item : {};
  const named = keys.filter(key => fields[key] !== undefined).sort();
  return `k:${JSON.stringify(Object.fromEntries(named.map(key => [key, fields[key]])))}`;
}

function isEmpty(value: unknown): boolean {
  return value === null || (typeof value === "object" && Object.keys(value).length === 0);
}

/** Untyped values of a custom resource are granular, too. */
function isOpen(value: unknown, schema: Schema): boolean {
  if (isEmpty(value) || value === undefined) return false;
  return isGranular(schema) || (schema.type === "any" && schema.isAtomic !== true && isObject(value));
}

/** All fields of a configuration, as its applier owns them. */
export function fieldsOf(value: unknown, schema: Schema): Fields {
  const fields: Fields = {};
  for (const [step, child] of childrenOf(value, schema)) {
    const inner = isOpen(child.value, child.schema) ? fieldsOf(child.value, child.schema) : {};
    // Items of lists and members of maps are owned themselves.
    const isMember = schema.type === "list";
    fields[step] = isMember && isOpen(child.value, child.schema) ? { ".": {}, ...inner } : inner;
  }
  return fields;
}

/** What a change added or modified, and what it removed. */
interface Difference {
  readonly changed: Fields;
  readonly removed: Fields;
}

/** Compares two values. */
export function compare(before: unknown, after: unknown, schema: Schema): Difference {
  const [changed, removed]: [Fields, Fields] = [{}, {}];
  const [old, next] = [childrenOf(before, schema), childrenOf(after, schema)];
  for (const [step, { value, schema: one }] of next) {
    const known = old.get(step);
    if (known !== undefined && same(known.value, value)) continue;
    compareStep(step, { before: known?.value, after: value, schema: one }, { changed, removed });
  }
  for (const [step, { value, schema: one }] of old)
    if (!next.has(step)) removed[step] = isOpen(value, one) ? { ".": {}, ...fieldsOf(value, one) } : {};
  return { changed, removed };
}

function compareStep(step: string, pair: { before: unknown; after: unknown; schema: Schema }, into: Difference): void {
  const { before, after, schema } = pair;
  if (!isOpen(after, schema) && !isOpen(before, schema)) {
    into.changed[step] = {};
    return;
  }
  const inner = compare(before, after, schema);
  const isNew = before === undefined && !ALWAYS.has(step);
  if (isNew || Object.keys(inner.changed).length > 0)
    into.changed[step] = { ...(isNew && { ".": {} }), ...inner.changed };
  if (Object.keys(inner.removed).length > 0) into.removed[step] = inner.removed;
}

/** The fields of `a` or `b`. */
export function union(a: Fields, b: Fields): Fields {
  const all: Fields = { ...a };
  for (const step of Object.keys(b)) all[step] = step in a ? union(a[step]!, b[step]!) : b[step]!;
  return all;
}

/** The fields of `a` that are not in `b`. A leaf in `b` that has children in `a` takes none of them. */
export function without(a: Fields, b: Fields): Fields {
  const left: Fields = {};
  for (const step of Object.keys(a)) {
    const [mine, theirs] = [a[step]!, b[step]];
    if (theirs === undefined) {
      left[step] = mine;
      continue;
    }
    const isLeaf = Object.keys(mine).length === 0;
    if (isLeaf) continue;
    const inner = without(mine, theirs);
    if (Object.keys(inner).length > 0) left[step] = inner;
  }
  return left;
}

function isNone(fields: Fields): boolean {
  return Object.keys(fields).length === 0;
}

/** What no manager owns. */
function stripped(fields: Fields): Fields {
  const left: Fields = {};
  for (const step of Object.keys(fields)) if (!STRIPPED.has(step.slice(2))) left[step] = fields[step]!;
  const { "f:metadata": metadata, ...others } = left;
  if (metadata === undefined) return others;
  const own = without(
    metadata,
    Object.fromEntries([".", ...OWN_META.map(name => `f:${name}`)].map(step => [step, metadata[step] ?? {}])),
  );
  return isNone(own) ? others : { "f:metadata": own, ...others };
}

function isEntryOf(entry: ManagedFields, by: By): boolean {
  const operation = by.operation ?? "Update";
  return (
    entry.manager === by.manager &&
    entry.operation === operation &&
    (entry.subresource ?? "") === (by.subresource ?? "")
  );
}

/** How an update is recorded. */
export interface Recording {
  readonly schema: Schema;
  readonly now: string;
  /** The kind has a status subresource: only writes of the status own it. */
  readonly hasStatus: boolean;
}

/** Records an update: who changes a field owns it alone, and who does not touch it keeps what they own. */
export function recordUpdate(draft: Obj, old: Obj | undefined, by: By, { schema, now, hasStatus }: Recording): void {
  const entries = old?.metadata.managedFields ?? [];
  const before = { ...old, metadata: { ...old?.metadata, managedFields: undefined } };
  const after = { ...draft, metadata: { ...draft.metadata, managedFields: undefined } };
  const { changed, removed } = compare(before, after, schema);
  const ofWrite = (fields: Fields): Fields => (hasStatus ? ofSubresource(fields, by.subresource) : fields);
  setEntries(draft, entries, { by, took: ofWrite(stripped(changed)), lost: ofWrite(stripped(removed)), now });
}

function ofSubresource({ "f:status": status, ...others }: Fields, subresource: string | undefined): Fields {
  if (subresource === undefined) return others;
  return subresource === "status" && status !== undefined ? { "f:status": status } : {};
}

interface Taking {
  readonly by: By;
  readonly took: Fields;
  readonly lost: Fields;
  readonly now: string;
}

function setEntries(draft: Obj, entries: readonly ManagedFields[], { by, took, lost, now }: Taking): void {
  const gone = union(took, lost);
  const left = entries.flatMap(entry => {
    const isOurs = isEntryOf(entry, by);
    const fields = without(entry.fieldsV1 as Fields, isOurs ? lost : gone);
    return isNone(fields) && !(isOurs && !isNone(took)) ? [] : [{ ...entry, fieldsV1: fields }];
  });
  const ours = left.find(entry => isEntryOf(entry, by));
  const others = left.filter(entry => entry !== ours);
  if (isNone(took)) draft.metadata.managedFields = left;
  else draft.metadata.managedFields = [...others, entryOf(draft, by, union(ours?.fieldsV1 ?? {}, took), now)];
  if (draft.metadata.managedFields.length === 0) Reflect.deleteProperty(draft.metadata, "managedFields");
}

function entryOf({ apiVersion }: Obj, by: By, fieldsV1: Fields, time: string): ManagedFields {
  const { manager, operation = "Update", subresource } = by;
  return {
    manager,
    operation,
    apiVersion,
    time,
    fieldsType: "FieldsV1",
    fieldsV1,
    ...(subresource !== undefined && { subresource }),
  };
}

/** A configuration that a manager applies. */
export interface Applied {
  readonly config: Values;
  readonly by: By;
  readonly schema: Schema;
  readonly now: string;
}

/** Applies a configuration to an object with force, in place. */
export function applyTo(draft: Obj, applied: Applied): void {
  const { config, schema } = applied;
  const by: By = { ...applied.by, operation: "Apply" };
  const live = clone(draft);
  const entries = live.metadata.managedFields ?? [];
  const others = entries.filter(entry => !isEntryOf(entry, by));
  const last = fieldsOfEntry(entries.find(entry => isEntryOf(entry, by)));
  const wanted = stripped(fieldsOf(config, schema));
  const kept = others.reduce((all, { fieldsV1 }) => union(all, fieldsV1 as Fields), wanted);
  const gone = without(last, kept);
  const result = removeFields(merge(live, config, schema), gone, schema) as Obj;
  const { changed, removed } = compare(withoutOwners(live), withoutOwners(result), schema);
  const [took, lost] = [stripped(changed), stripped(removed)];
  for (const field of Object.keys(draft)) if (!(field in result)) Reflect.deleteProperty(draft, field);
  Object.assign(draft, result);
  if (isNone(took) && isNone(lost) && same(last, wanted)) return;
  const ours = isNone(wanted) ? [] : [entryOf(draft, by, wanted, applied.now)];
  draft.metadata.managedFields = sorted([...ours, ...entriesWithout(others, union(took, lost))]);
}

function fieldsOfEntry(entry: ManagedFields | undefined): Fields {
  return (entry?.fieldsV1 ?? {}) as Fields;
}

function entriesWithout(entries: readonly ManagedFields[], fields: Fields): ManagedFields[] {
  return entries.flatMap(entry => {
    const left = without(entry.fieldsV1 as Fields, fields);
    return isNone(left) ? [] : [{ ...entry, fieldsV1: left }];
  });
}

function withoutOwners(object: Obj): object {
  return { ...object, metadata: { ...object.metadata, managedFields: undefined } };
}

/** The live value with what is configured. */
export function merge(live: unknown, config: unknown, schema: Schema): unknown {
  if (config === undefined || (live !== undefined && isNothing(config, schema))) return live;
  if (!isOpen(config, schema) || !isCompound(live)) return clone(config);
  if (Array.isArray(config)) return Array.isArray(live) ? mergeLists(live, config, schema) : clone(config);
  const result: Values = { ...live };
  for (const [step, child] of childrenOf(config, schema)) {
    const name = step.slice(2);
    result[name] = merge(result[name], child.value, child.schema);
  }
  return result;
}

/** An empty configuration of a value that is merged. */
function isNothing(config: unknown, schema: Schema): boolean {
  return config !== null && isEmpty(config) && isGranular(schema);
}

function isCompound(value: unknown): value is Values {
  return typeof value === "object" && value !== null;
}

/** Live items keep their order, and new ones come where the configuration has them. */
function mergeLists(live: readonly unknown[], config: readonly unknown[], { items = ANY, keys }: Schema): unknown[] {
  const known = new Map(live.map(item => [stepOfItem(item, keys), item]));
  const wanted = config.map(item => stepOfItem(item, keys));
  const shared = wanted.filter(step => known.has(step));
  const result: unknown[] = [];
  let at = 0;
  const takeTo = (end: number): void => {
    for (; at < end; at++) result.push(merge(known.get(wanted[at]!), config[at], items));
  };
  for (const [step, item] of known) {
    if (!wanted.includes(step)) result.push(item);
    else if (step === shared[0]) {
      shared.shift();
      takeTo(wanted.indexOf(step) + 1);
    }
  }
  takeTo(wanted.length);
  return result;
}

/** The value without fields that have no owner any more. */
function removeFields(value: unknown, fields: Fields, schema: Schema): unknown {
  if (isNone(fields)) return value;
  const children = childrenOf(value, schema);
  const isOut = (step: string): boolean => step in fields && (isNone(fields[step]!) || "." in fields[step]!);
  if (Array.isArray(value)) {
    const kept = [...children].filter(([step]) => !isOut(step));
    return kept.map(([step, child]) => removeFields(child.value, fields[step] ?? {}, child.schema));
  }
  const result: Values = { ...(value as Values) };
  for (const [step, child] of children) {
    const name = step.slice(2);
    const gone =
      isOut(step) && (!("." in fields[step]!) || isNone(without(fieldsOf(child.value, child.schema), fields[step])));
    if (gone) Reflect.deleteProperty(result, name);
    else if (step in fields) result[name] = emptied(removeFields(child.value, fields[step]!, child.schema));
  }
  return tidyEmpty(result);
}

function emptied(value: unknown): unknown {
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}

function tidyEmpty(value: Values): Values {
  for (const field of Object.keys(value)) if (value[field] === undefined) Reflect.deleteProperty(value, field);
  return value;
}

/** Appliers first, then by time and name. */
function sorted(entries: readonly ManagedFields[]): ManagedFields[] {
  const keyOf = ({ operation, time = "", manager, subresource = "" }: ManagedFields): string =>
    [operation, time, manager, subresource].join("|");
  return [...entries].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
