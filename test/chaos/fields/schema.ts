import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const FILE = join(__dirname, "../../../crds/controllerresilience.yaml");

/** An OpenAPI schema, as far as values can be told from it. */
export interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string; readonly message?: string }[];
}

/** Something of the spec that can be set by itself: a block, a list, or a single value. */
export interface Field {
  /** As `tokenRestart.window` or `targets[].kind`; of a list it is the first item that is meant. */
  readonly path: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** The schema of `spec` in crds/, the source of the API. */
export function specSchema(): Schema {
  const crd = parse(readFileSync(FILE, "utf8")) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: Schema } } } }[] };
  };
  const [version] = crd.spec.versions;
  if (version === undefined) throw new Error(`${FILE} has no version`);
  return version.schema.openAPIV3Schema.properties.spec;
}

/** Every field of an object, the outer ones before what is in them. Pure. */
export function fieldsOf({ properties = {}, required = [] }: Schema, prefix = ""): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const inner = schema.type === "array" ? fieldsOf(schema.items ?? {}, `${path}[].`) : fieldsOf(schema, `${path}.`);
    return [{ path, schema, isRequired: required.includes(name) }, ...inner];
  });
}
