import { expect, it } from "vitest";
import { roleView } from "./role-view";

it("reads the rules of a role, also those that an aggregated ClusterRole was given", () => {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { "mine.io/aggregate": "true" } }] };
  const rules = [
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["web-tls"], verbs: ["get"] },
    { nonResourceURLs: ["/metrics"], verbs: ["get"] },
  ];
  expect(roleView({ aggregationRule, rules })).toEqual({
    rules: [
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["web-tls"], verbs: ["get"] },
      { apiGroups: [], resources: [], resourceNames: [], verbs: ["get"] },
    ],
  });
  expect(roleView({ aggregationRule, rules: null })).toEqual({ rules: [] });
});
