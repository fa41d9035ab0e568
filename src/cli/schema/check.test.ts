import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { WELL_KNOWN } from "../../evidence/progress/well-known";
import { checkSpec, type Schema, brokenRules, type Rule, schemaOf } from "./check";

const targets = [{ kind: "Deployment", name: "web" }];
const check = (spec: object): string[] =>
  checkSpec({ metadata: { name: "app" }, spec }, schemaOf("ControllerResilience"), "");
const checkCluster = (spec: object, name = "all"): string[] =>
  checkSpec({ metadata: { name }, spec }, schemaOf("ClusterControllerResilience"), "");

function rulesOf({ properties = {}, items, ...schema }: Schema): Rule[] {
  const own = schema["x-kubernetes-validations"] ?? [];
  return [...own, ...[...Object.values(properties), ...(items ? [items] : [])].flatMap(rulesOf)];
}

describe("a ControllerResilience against its schema", () => {
  it.each([
    [{ targets, tokenRestart: {}, bindingRenewal: {}, tokenLifetime: {}, flowIsolation: {}, stallDetection: {} }],
    [{ targets, flowIsolation: { requestRate: { threshold: 1, for: "1h" } } }],
    [{ targets, tokenLifetime: { windows: [{ schedule: "0 2 * * 6", duration: "4h" }] } }],
    [{ targets, bindingRenewal: { renewUntil: "2027-01-31T00:00:00Z" } }],
    [{ targets, stallDetection: { progress: [{ kind: "Application" }], metrics: { port: 8080 } } }],
    [{ targets, stallDetection: { metrics: { port: "http-prom", scheme: "HTTP" } } }],
    [{ targets: [{ kind: "DaemonSet", selector: { matchExpressions: [{ key: "a", operator: "Exists" }] } }] }],
  ])("accepts %o", spec => expect(check(spec)).toEqual([]));

  it("accepts each object that the health check of Argo CD is tested with", () => {
    const folder = "deploy/argocd/resource_customizations/controller-resilience.io/ControllerResilience/testdata";
    const files = readdirSync(folder).map(name => join(folder, name));
    const refused = files.flatMap(path => {
      const object = parse(readFileSync(path, "utf8")) as Parameters<typeof checkSpec>[0];
      return checkSpec(object, schemaOf("ControllerResilience"), path);
    });
    expect(files.length).toBeGreaterThan(10);
    expect(refused).toEqual([]);
  });

  it.each([
    [{}, ".spec: expected the field targets"],
    [{ targets: [] }, ".spec.targets: expected 1 or more entries, got []"],
    [{ targets: [{ kind: "Deployment" }] }, ".spec.targets[0]: expected"],
    [{ targets: [{ kind: "Deployment", name: "-" }] }, 'got "-"'],
    [{ targets, tokenrestart: {} }, ".spec.tokenrestart: unknown field, expected one of mode, suspend"],
    [{ targets: [{ kind: "Pod", selector: { matchLabels: { a: "b" } } }] }, 'got "Pod"'],
    [{ targets, bindingRenewal: { renewUntil: "soon" } }, ".spec.bindingRenewal.renewUntil"],
    [{ targets, flowIsolation: { requestRate: { for: "2h" } } }, ".spec.flowIsolation.requestRate.for: "],
    [
      { targets, tokenLifetime: { windows: [{ schedule: "always", duration: "4h" }] } },
      "expected a cron schedule of five fields",
    ],
    [{ targets, stallDetection: { metrics: { port: 65_536 } } }, "a number between 1 and 65535"],
    [{ targets, stallDetection: { evidence: [] } }, "expected evidence, progress or metrics"],
    [
      { targets, tokenRestart: { extraPhrases: [" \t "] } },
      ".spec.tokenRestart.extraPhrases[0]: expected a phrase that",
    ],
  ])("rejects %o", (spec, error) => {
    const errors = check(spec);
    expect(errors.join("\n")).toContain(error);
    expect(errors).toHaveLength(1);
  });
});

it("lets exactly the well-known kinds do without an apiVersion, where they have one group", () => {
  const accepted = (kind: string): boolean => check({ targets, stallDetection: { progress: [{ kind }] } }).length === 0;
  const kinds = WELL_KNOWN.map(({ kind }) => kind);
  for (const kind of kinds) expect([kind, accepted(kind)]).toEqual([kind, kinds.filter(k => k === kind).length === 1]);
  const rule = rulesOf(schemaOf("ControllerResilience")).find(one => one.rule.startsWith("has(self.apiVersion) || "));
  expect(rule?.rule.match(/'/g)).toHaveLength(2 * kinds.filter(accepted).length);
});

describe("a ClusterControllerResilience against its schema", () => {
  it("accepts all defaults", () => expect(checkCluster({ template: { tokenRestart: {} } })).toEqual([]));

  it.each([
    [
      { mode: "Enforce", enforce: { namespaceSelector: {} }, template: { tokenRestart: {} } },
      "all",
      "expected enforce only with",
    ],
    [{ template: {} }, "all", ".spec.template: expected 1 or more fields, got {}"],
    [{ template: { tokenRestart: {} } }, "n".repeat(41), "expected a name of at most 40 characters"],
  ])("rejects %o", (spec, name, error) => expect(checkCluster(spec, name).join("\n")).toContain(error));
});

describe("the rules of the definitions", () => {
  it.each(["ControllerResilience", "ClusterControllerResilience"] as const)("of %s can all be parsed", kind => {
    const rules = rulesOf(schemaOf(kind).properties?.["spec"] ?? {});
    expect(rules.length).toBeGreaterThan(20);
    // It throws for a rule with a syntax that it does not know.
    for (const rule of rules) brokenRules([rule], {});
  });

  it("refuse a value on which they cannot be evaluated", () =>
    expect(brokenRules([{ rule: "self.a > 1", message: "wrong" }], {})).toEqual(["wrong"]));
});
