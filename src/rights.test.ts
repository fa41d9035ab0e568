import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { CLUSTER_PLURAL, GROUP, PLURAL } from "./api/names";
import type { Permission } from "./core/intent";
import { clusterWidePermissions } from "./engine/cluster-wide/cluster-wide";
import { createRemedies } from "./remedies/registry";

/**
 * The operator's own permissions in every watched namespace, besides those of the remedies. The Lease and Pepr's stores have Roles in their namespaces.
 */
const ownPermissions: readonly Permission[] = [
  {
    apiGroup: GROUP,
    resource: PLURAL,
    verbs: ["get", "list", "watch", "patch"],
    why: "reconciles these objects; patch adds and removes its finalizer, for which no smaller permission exists",
  },
  { apiGroup: GROUP, resource: `${PLURAL}/status`, verbs: ["update"], why: "reports in status" },
  {
    apiGroup: "",
    resource: "namespaces",
    verbs: ["get", "list", "watch"],
    why: "reads the skip annotation of Namespaces, which is unknown without this right",
  },
  ...clusterWidePermissions,
  {
    apiGroup: GROUP,
    resource: CLUSTER_PLURAL,
    verbs: ["get", "list", "watch"],
    why: "protects the namespaces that these objects select",
  },
  { apiGroup: GROUP, resource: `${CLUSTER_PLURAL}/status`, verbs: ["update"], why: "reports in their status" },
  { apiGroup: "events.k8s.io", resource: "events", verbs: ["create"], why: "records Events" },
];

interface Rule {
  apiGroups?: string[];
  resources?: string[];
  verbs: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

/** Rendered from the chart: with the rights of all remedies, and with what the chart gives by default. */
const [withAll, byDefault] = ["host-process.yaml", "install.yaml"].map(file => {
  const text = readFileSync(join(__dirname, "..", "deploy", file), "utf8");
  const objects = parseAllDocuments(text).map(document => document.toJS() as { kind: string; rules?: Rule[] } | null);
  return (kind: string): Rule[] => objects.flatMap(object => (object?.kind === kind ? (object.rules ?? []) : []));
}) as [(kind: string) => Rule[], (kind: string) => Rule[]];

/** One line per right, so that a difference reads as what it is. */
const lines = (rules: readonly Rule[]): string[] =>
  rules
    .flatMap(({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [], verbs }) => [
      ...apiGroups.flatMap(group =>
        resources.flatMap(resource => verbs.map(verb => [verb, resource, ...resourceNames, `in "${group}"`].join(" "))),
      ),
      ...nonResourceURLs.flatMap(url => verbs.map(verb => `${verb} ${url}`)),
    ])
    .sort();

describe("the ClusterRoles in deploy/", () => {
  it("are what the operator and its remedies say that they need, and nothing else", () => {
    const needed = [...ownPermissions, ...createRemedies().flatMap(({ permissions }) => permissions)];
    const asRules = needed.map(
      ({ apiGroup, resource, name, url, verbs }): Rule =>
        url === undefined
          ? {
              apiGroups: [apiGroup],
              resources: [resource],
              resourceNames: name === undefined ? [] : [name],
              verbs: [...verbs],
            }
          : { nonResourceURLs: [url], verbs: [...verbs] },
    );
    expect(lines(withAll("ClusterRole"))).toEqual([...new Set(lines(asRules))]);
  });

  it("lack by default the rights to renew bindings, and nothing else", () => {
    const given = lines(byDefault("ClusterRole"));
    const missing = lines(withAll("ClusterRole")).filter(line => !given.includes(line));
    expect(given.length + missing.length).toBe(lines(withAll("ClusterRole")).length);
    expect(missing.length).toBeGreaterThan(0);
    for (const line of missing) expect(line).toMatch(/^patch (cluster)?rolebindings in /);
    const permissions = createRemedies().flatMap(remedy => remedy.permissions);
    const onRequest = permissions.filter(({ grantedBy }) => grantedBy !== undefined).map(({ resource }) => resource);
    expect(onRequest).toEqual(["rolebindings", "clusterrolebindings"]);
  });
});

describe("every rule in deploy/", () => {
  const all = [...withAll("ClusterRole"), ...withAll("Role")];

  it("has no wildcard, no way to more rights, no Secrets, and can't delete pods", () => {
    for (const rule of all) {
      const words = [...(rule.apiGroups ?? []), ...(rule.resources ?? []), ...rule.verbs];
      for (const word of ["*", "escalate", "impersonate", "bind", "secrets"]) expect(words).not.toContain(word);
    }
    expect(lines(all)).not.toContain('delete pods in ""');
  });

  it("in a Role names its objects, but where the verb is create, which no name can narrow", () => {
    for (const { verbs, resourceNames } of withAll("Role"))
      expect(verbs.includes("create") || resourceNames !== undefined).toBe(true);
  });
});
