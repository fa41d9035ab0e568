import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const FILE = join(__dirname, "../../../crds/controllerresilience.yaml");

/** The parts of an OpenAPI schema that determine values. */
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

/** A part of the spec that can be set separately: a block, a list, or a single value. */
export interface Field {
  /** Such as `tokenRestart.window` or `targets[].kind`; the latter means the first item of the list. */
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

/** All fields of an object, outer fields before inner ones. Pure. */
export function fieldsOf({ properties = {}, required = [] }: Schema, prefix = ""): Field[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = `${prefix}${name}`;
    const inner = schema.type === "array" ? fieldsOf(schema.items ?? {}, `${path}[].`) : fieldsOf(schema, `${path}.`);
    return [{ path, schema, isRequired: required.includes(name) }, ...inner];
  });
}
