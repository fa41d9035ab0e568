import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { createRemedies } from "./remedies/registry";
import { ownPermissions } from "./rights";

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  verbs: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

const documents = ["rbac.yaml", "pepr-store.yaml"].flatMap(file =>
  parseAllDocuments(readFileSync(join(__dirname, "..", "deploy", file), "utf8")).map(
    document => document.toJS() as { kind: string; rules?: Rule[] },
  ),
);
const rulesOf = (kind: string): Rule[] =>
  documents.filter(document => document.kind === kind).flatMap(({ rules = [] }) => rules);

/** One line per right, so that a difference reads as what it is. */
const lines = (rules: readonly Rule[]): string[] =>
  rules
    .flatMap(({ apiGroups = [], resources = [], nonResourceURLs = [], verbs }) => [
      ...apiGroups.flatMap(group =>
        resources.flatMap(resource => verbs.map(verb => `${verb} ${resource} in "${group}"`)),
      ),
      ...nonResourceURLs.flatMap(url => verbs.map(verb => `${verb} ${url}`)),
    ])
    .sort();

describe("the ClusterRole in deploy/", () => {
  it("is what the operator and its remedies say that they need, and nothing else", () => {
    const needed = [...ownPermissions, ...createRemedies().flatMap(({ may }) => may)];
    const asRules = needed.map(
      ({ apiGroup, resource, url, verbs }): Rule =>
        url === undefined
          ? { apiGroups: [apiGroup], resources: [resource], verbs: [...verbs] }
          : { nonResourceURLs: [url], verbs: [...verbs] },
    );
    expect(lines(rulesOf("ClusterRole"))).toEqual([...new Set(lines(asRules))]);
  });
});

describe("every rule in deploy/", () => {
  const all = [...rulesOf("ClusterRole"), ...rulesOf("Role")];

  it("has no wildcard, no way to more rights, no Secrets, and can't delete pods", () => {
    for (const rule of all) {
      const words = [...(rule.apiGroups ?? []), ...(rule.resources ?? []), ...rule.verbs];
      for (const word of ["*", "escalate", "impersonate", "bind", "secrets"]) expect(words).not.toContain(word);
    }
    expect(lines(all)).not.toContain('delete pods in ""');
  });

  it("in a Role names its objects, but where the verb is create, which no name can narrow", () => {
    for (const { verbs, resourceNames } of rulesOf("Role"))
      expect(verbs.includes("create") || resourceNames !== undefined).toBe(true);
  });
});
