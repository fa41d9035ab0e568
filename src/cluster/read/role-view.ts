import type { V1ClusterRole } from "@kubernetes/client-node";
import { objectOf, textOf } from "../../core/json";
import type { RoleView } from "../../core/views";
import { itemsOf, type Received } from "./received";

/** Returns the rules of a Role or ClusterRole. */
export function roleView(raw: unknown): RoleView {
  const { rules } = objectOf(raw) as Received<Pick<V1ClusterRole, "rules">>;
  return {
    rules: itemsOf(rules).map(({ apiGroups, resources, resourceNames, verbs }) => ({
      apiGroups: textsOf(apiGroups),
      resources: textsOf(resources),
      resourceNames: textsOf(resourceNames),
      verbs: textsOf(verbs),
    })),
  };
}

function textsOf(values: unknown): string[] {
  return Array.isArray(values) ? values.flatMap(value => textOf(value) ?? []) : [];
}
