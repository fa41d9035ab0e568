import { objectOf, textOf } from "../../../src/core/json";
import type { KindInfo } from "./kinds";
import { type Obj, Refusal } from "./objects";

/** Reports whether an object is selected. */
export type Selects = (object: Obj) => boolean;

const PLAIN = /^([^=!,() ]+)\s*(==|=|!=)\s*([^=!,() ]*)$/;
const SET = /^([^=!,() ]+)\s+(in|notin)\s+\(([^()]*)\)$/;

/** Splits at commas outside of parentheses. */
function terms(selector: string): string[] {
  return selector.split(/,(?![^(]*\))/).map(term => term.trim());
}

/** A label selector in a query. @throws Refusal 400 */
export function labelSelector(selector: string): Selects {
  const tests = terms(selector).map(labelTerm);
  return ({ metadata: { labels = {} } }) => tests.every(test => test(labels));
}

function labelTerm(term: string): (labels: Readonly<Record<string, string>>) => boolean {
  const plain = PLAIN.exec(term);
  if (plain !== null) {
    const [, key = "", operator, value = ""] = plain;
    return labels => (labels[key] === value) === (operator !== "!=");
  }
  const set = SET.exec(term);
  if (set !== null) {
    const [, key = "", operator, list = ""] = set;
    const values = list.split(",").map(value => value.trim());
    return labels => (labels[key] !== undefined && values.includes(labels[key])) === (operator === "in");
  }
  const key = /^(!?)\s*([A-Za-z0-9][A-Za-z0-9._/-]*)$/.exec(term);
  if (key !== null) return labels => (labels[key[2] ?? ""] !== undefined) === (key[1] === "");
  throw new Refusal(400, "BadRequest", `unable to parse requirement: found '${term}', expected: identifier`);
}

/** Fields that a kind can be selected by, besides metadata.name and metadata.namespace. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pods: [
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
  ],
  events: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
  ],
  nodes: ["spec.unschedulable"],
  namespaces: ["status.phase"],
  secrets: ["type"],
  replicasets: ["status.replicas"],
  jobs: ["status.successful"],
};

/** A field selector in a query. @throws Refusal 400 for a field that the kind has not for it */
export function fieldSelector(selector: string, { group, version, plural }: KindInfo): Selects {
  const allowed = ["metadata.name", "metadata.namespace", ...(FIELDS[plural] ?? [])];
  const tests = terms(selector).map(term => {
    const [, field = "", operator, value = ""] = /^([^=!]+)(==|=|!=)(.*)$/.exec(term) ?? [];
    if (operator === undefined)
      throw new Refusal(400, "BadRequest", `invalid selector: '${term}'; can't understand '${term}'`);
    if (!allowed.includes(field)) throw unsupported(field, value, group === "" ? version : `${group}/${version}`);
    return (object: Obj): boolean => (valueAt(object, field) === value) === (operator !== "!=");
  });
  return object => tests.every(test => test(object));
}

function unsupported(field: string, value: string, apiVersion: string): Refusal {
  const why = `field label not supported: ${field}`;
  return new Refusal(
    400,
    "BadRequest",
    `Unable to find "${apiVersion}" that match label selector "", field selector "${field}=${value}": ${why}`,
  );
}

function valueAt(object: Obj, field: string): string {
  if (field === "source" || field === "reportingComponent") return sourceOf(object);
  const value = field.split(".").reduce<unknown>((at, step) => objectOf(at)[step], object);
  return value === undefined || value === null ? "" : String(value as string | number | boolean);
}

function sourceOf(event: Obj): string {
  return textOf(objectOf(event["source"])["component"]) ?? textOf(event["reportingComponent"]) ?? "";
}

/** A metav1.LabelSelector, as of a PodDisruptionBudget; without requirements it selects everything. */
export function matches(selector: unknown, labels: Readonly<Record<string, string>> = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = objectOf(selector) as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; operator: string; values?: string[] }[];
  };
  const plain = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return plain && matchExpressions.every(({ key, operator, values = [] }) => matchesOne(labels[key], operator, values));
}

function matchesOne(value: string | undefined, operator: string, values: readonly string[]): boolean {
  if (operator === "Exists") return value !== undefined;
  if (operator === "DoesNotExist") return value === undefined;
  return (value !== undefined && values.includes(value)) === (operator === "In");
}
