import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { parse } from "yaml";
import { CRD_FILE } from "./api-types";

interface Schema {
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** Generates the values that the fields of the spec may have: of an object from before a rollback, the API server has checked others. */
export function choices(root: string): { path: string; from: string; text: () => Promise<string> } {
  const path = "src/api/generated/choices.ts";
  const text = (): Promise<string> => {
    const crd = parse(readFileSync(join(root, CRD_FILE), "utf8")) as {
      spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
    };
    const spec = crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.["spec"];
    if (spec === undefined) throw new Error(`${CRD_FILE}: expected a version with a schema of spec`);
    return format(
      `// Made from ${CRD_FILE} by "npm run generate". Do not edit.

/** The values that the API server accepts in fields of the spec, by path. */
export const CHOICES: readonly (readonly [path: string, values: readonly string[]])[] = ${JSON.stringify(found(spec, ""))};
`,
      { parser: "typescript", printWidth: 120, arrowParens: "avoid" },
    );
  };
  return { path, from: CRD_FILE, text };
}

function found(schema: Schema, path: string): [string, readonly string[]][] {
  return [
    ...(schema.enum === undefined ? [] : [[path, schema.enum] as [string, readonly string[]]]),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
      found(field, path === "" ? name : `${path}.${name}`),
    ),
    ...(schema.items === undefined ? [] : found(schema.items, `${path}[]`)),
  ];
}
