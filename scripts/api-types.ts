import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile, type JSONSchema } from "json-schema-to-typescript";
import { parse } from "yaml";

export const CRD_FILE = "crds/controllerresilience.yaml";

interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  nullable?: boolean;
  title?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  enum?: string[];
  additionalProperties?: Schema;
}

// Names of the interfaces by path in the schema; other objects are inline.
const titles: Record<string, string> = {
  spec: "ControllerResilienceSpec",
  status: "ControllerResilienceStatus",
  "spec.targets[]": "TargetSelector",
  "spec.targets[].selector": "LabelSelector",
  "spec.tokenRestart": "TokenRestartSpec",
  "spec.bindingRenewal": "BindingRenewalSpec",
  "spec.tokenLifetime": "TokenLifetimeSpec",
  "spec.flowIsolation": "FlowIsolationSpec",
  "status.conditions[]": "StatusCondition",
  "status.targets[]": "TargetStatus",
  "status.restarts[]": "RestartStatus",
  "status.bindings[]": "BindingStatus",
  "status.bindings[].roleRef": "RoleRef",
  "status.bindings[].subjects[]": "Subject",
  "status.renewalTargets[]": "RenewalTargetStatus",
  "status.daemonSets[]": "DaemonSetStatus",
  "status.daemonSets[].previous[]": "PreviousExpiration",
  "status.flows[]": "FlowStatus",
};

/** Fields with a default are always present when an object is read, hence required. */
function asRead(schema: Schema, path: string): JSONSchema {
  const { nullable, ...rest } = schema;
  const plain: Record<string, unknown> = { type: nullable ? [rest.type, "null"] : rest.type };
  if (rest.description) plain["description"] = rest.description;
  if (rest.enum) plain["enum"] = rest.enum;
  if (titles[path]) plain["title"] = titles[path];
  if (rest.items) plain["items"] = asRead(rest.items, `${path}[]`);
  if (rest.properties) {
    const entries = Object.entries(rest.properties);
    plain["properties"] = Object.fromEntries(
      entries.map(([name, s]) => [name, asRead(s, path ? `${path}.${name}` : name)]),
    );
    const defaulted = entries.filter(([, s]) => s.default !== undefined).map(([name]) => name);
    plain["required"] = [...new Set([...(rest.required ?? []), ...defaulted])];
  }
  if (rest.type === "object")
    plain["additionalProperties"] = rest.additionalProperties ? asRead(rest.additionalProperties, `${path}{}`) : false;
  return plain as JSONSchema;
}

/** Generates TypeScript types from the schema of the CRD, the only source of the API. */
export async function apiTypes(root: string): Promise<string> {
  const crd = parse(readFileSync(join(root, CRD_FILE), "utf8")) as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema;
  if (!schema?.properties) throw new Error(`${CRD_FILE}: expected a version with a schema`);
  const body: Schema = {
    type: "object",
    description: schema.description ?? "",
    required: ["spec"],
    properties: { spec: schema.properties["spec"] ?? {}, status: schema.properties["status"] ?? {} },
  };
  return compile(asRead(body, ""), "ControllerResilienceBody", {
    bannerComment: `// Made from ${CRD_FILE} by "npm run generate". Do not edit.\n// As read from the API server: what it defaults is always there; dates are RFC 3339 strings.`,
    format: true,
    style: { printWidth: 120 },
  });
}
