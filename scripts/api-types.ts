import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile, type JSONSchema } from "json-schema-to-typescript";
import { parse } from "yaml";

export const CRD_FILE = "crds/controllerresilience.yaml";
export const CLUSTER_CRD_FILE = "crds/clustercontrollerresilience.yaml";

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
  "x-kubernetes-int-or-string"?: boolean;
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
  "spec.stallDetection": "StallDetectionSpec",
  "spec.stallDetection.progress[]": "ProgressSpec",
  "spec.stallDetection.metrics": "MetricsSpec",
  "status.conditions[]": "StatusCondition",
  "status.targets[]": "TargetStatus",
  "status.restarts[]": "RestartStatus",
  "status.bindings[]": "BindingStatus",
  "status.daemonSets[]": "DaemonSetStatus",
  "status.daemonSets[].previous[]": "PreviousExpiration",
  "status.flows[]": "FlowStatus",
  "status.stalls[]": "StallStatus",
};

const references: Record<string, string> = {
  "spec.stallDetection.progress[].selector": "LabelSelector",
};

const clusterTitles: Record<string, string> = {
  spec: "ClusterControllerResilienceSpec",
  status: "ClusterControllerResilienceStatus",
  "spec.workloads": "WorkloadsSpec",
  "status.excluded[]": "ExcludedCount",
  "status.conflicts[]": "ClusterConflict",
  "status.suggestions[]": "KindSuggestion",
};

/** Types by path in the schema that are those of {@link CRD_FILE}. */
const clusterReferences: Record<string, string> = {
  "spec.template": 'Omit<ControllerResilienceSpec, "mode" | "suspend" | "targets">',
  "spec.namespaceSelector": "LabelSelector",
  "spec.workloads.selector": "LabelSelector",
  "spec.enforce.namespaceSelector": "LabelSelector",
  "status.conditions[]": "StatusCondition",
};

/** Names and types by path in a schema. */
interface Names {
  readonly titles: Readonly<Record<string, string>>;
  readonly references: Readonly<Record<string, string>>;
}

/** Fields with a default are always present when an object is read, hence required; only an object that is about to be created has no status. */
function asRead(schema: Schema, path: string, names: Names): JSONSchema {
  const reference = schema["x-kubernetes-int-or-string"] ? "number | string" : names.references[path];
  return reference === undefined
    ? inFull(schema, path, names)
    : { tsType: reference, description: schema.description ?? "" };
}

function inFull(schema: Schema, path: string, names: Names): JSONSchema {
  const { nullable, ...rest } = schema;
  const plain: Record<string, unknown> = { type: nullable ? [rest.type, "null"] : rest.type };
  if (rest.description) plain["description"] = rest.description;
  if (rest.enum) plain["enum"] = rest.enum;
  if (names.titles[path]) plain["title"] = names.titles[path];
  if (rest.items) plain["items"] = asRead(rest.items, `${path}[]`, names);
  if (rest.properties) {
    const entries = Object.entries(rest.properties);
    plain["properties"] = Object.fromEntries(
      entries.map(([name, s]) => [name, asRead(s, path ? `${path}.${name}` : name, names)]),
    );
    const isAlwaysThere = (name: string, { default: fallback }: Schema): boolean =>
      fallback !== undefined && (path !== "" || name !== "status");
    const defaulted = entries.filter(entry => isAlwaysThere(...entry)).map(([name]) => name);
    plain["required"] = [...new Set([...(rest.required ?? []), ...defaulted])];
  }
  if (rest.type === "object")
    plain["additionalProperties"] = rest.additionalProperties
      ? asRead(rest.additionalProperties, `${path}{}`, names)
      : false;
  return plain as JSONSchema;
}

/** Generates TypeScript types from the schema of the CRD, the only source of the API. */
export function apiTypes(root: string): Types {
  return typesOf(root, {
    ...{ from: CRD_FILE, path: "src/api/generated/controller-resilience.ts", name: "ControllerResilienceBody" },
    names: { titles, references },
  });
}

/** The same for ClusterControllerResilience, whose template has the blocks of ControllerResilience. */
export function clusterApiTypes(root: string): Types {
  return typesOf(root, {
    from: CLUSTER_CRD_FILE,
    path: "src/api/generated/cluster-controller-resilience.ts",
    name: "ClusterControllerResilienceBody",
    names: { titles: clusterTitles, references: clusterReferences },
    imports:
      'import type { ControllerResilienceSpec, LabelSelector, StatusCondition } from "./controller-resilience";\n',
  });
}

/** A generated file. */
interface Types {
  readonly path: string;
  readonly from: string;
  readonly text: () => Promise<string>;
}

interface TypesOptions {
  /** The CRD. */
  readonly from: string;
  /** The generated file. */
  readonly path: string;
  /** Name of the interface of the whole object. */
  readonly name: string;
  readonly names: Names;
  readonly imports?: string;
}

function typesOf(root: string, { from, path, name, names, imports = "" }: TypesOptions): Types {
  const text = (): Promise<string> => {
    const crd = parse(readFileSync(join(root, from), "utf8")) as {
      spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
    };
    const schema = crd.spec.versions[0]?.schema.openAPIV3Schema;
    if (!schema?.properties) throw new Error(`${from}: expected a version with a schema`);
    const body: Schema = {
      type: "object",
      description: schema.description ?? "",
      required: ["spec"],
      properties: { spec: schema.properties["spec"] ?? {}, status: schema.properties["status"] ?? {} },
    };
    return compile(asRead(body, "", names), name, {
      bannerComment: `// Made from ${from} by "npm run generate". Do not edit.\n// As read from the API server: what it defaults is always there; dates are RFC 3339 strings.\n${imports}`,
      format: true,
      style: { printWidth: 120 },
    });
  };
  return { path, from, text };
}
