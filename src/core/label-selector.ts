import type { LabelSelector } from "../api/controller-resilience";

/** Reports whether labels match a selector, by the rules of the API server: an empty selector matches everything. */
export function matchesSelector(labels: Readonly<Record<string, string>>, selector: LabelSelector): boolean {
  const all = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return all && (selector.matchExpressions ?? []).every(requirement => meets(labels, requirement));
}

type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

function meets(labels: Readonly<Record<string, string>>, { key, operator, values = [] }: Requirement): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}
