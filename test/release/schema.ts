import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Ajv from "ajv";

const SCHEMAS = join(dirname(require.resolve("@cyclonedx/cyclonedx-library/package.json")), "res", "schema");

/** Returns the violations of CycloneDX's own JSON schema, as `path message`. */
export function schemaViolations(bill: unknown): string[] {
  const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
  for (const name of ["spdx", "jsf-0.82", "cryptography-defs"])
    ajv.addSchema(read(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  const validate = ajv.compile(read("bom-1.6"));
  validate(bill);
  return (validate.errors ?? []).map(({ instancePath, message = "" }) => `${instancePath} ${message}`);
}

function read(name: string): object {
  return JSON.parse(readFileSync(join(SCHEMAS, `${name}.SNAPSHOT.schema.json`), "utf8")) as object;
}
