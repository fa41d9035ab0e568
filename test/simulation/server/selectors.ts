import { objectOf } from "../../../src/core/json";
import type { KindInfo } from "./kinds";
import { type Obj, Refusal } from "./objects";

/** Reports whether an object is selected. */
export type Selects = (object: Obj) => boolean;

/** Fields that a kind can be selected by, besides metadata.name and metadata.namespace; of those the ones that the operator uses. */
const FIELDS: Readonly<Record<string, readonly string[]>> = { events: ["reason"], pods: ["spec.nodeName"] };

/** A field selector in a query, with one requirement. @throws Refusal 400 for a field that the kind has not for it */
export function fieldSelector(selector: string, { plural }: KindInfo): Selects {
  const [, field = "", operator, value = ""] = /^([^=!]+)(=|!=)(.*)$/.exec(selector) ?? [];
  if (!["metadata.name", "metadata.namespace", ...(FIELDS[plural] ?? [])].includes(field))
    throw new Refusal(400, "BadRequest", `field label not supported: ${field}`);
  return object => {
    const found = field.split(".").reduce<unknown>((at, step) => objectOf(at)[step], object);
    return (found === value) === (operator === "=");
  };
}

/** A metav1.LabelSelector, with `In` alone; without requirements it selects everything. */
export function matches(selector: unknown, labels: Readonly<Record<string, string>> = {}): boolean {
  const { matchLabels = {}, matchExpressions = [] } = objectOf(selector) as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key: string; values: string[] }[];
  };
  const plain = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return plain && matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ""));
}
