import { readFileSync } from "node:fs";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { KIND } from "../../api/names";
import { isMapping } from "../is-mapping";
import { checkSpec, type Schema } from "../schema/check";
import { schemaOf } from "../schema/crds";
import { readYaml, YamlError } from "../yaml-documents";

const PATH = "spec.tokenRestart";

/** An error in the file of `--spec`, with a message for people. */
export class SpecError extends Error {}

/**
 * Returns the tokenRestart block of a file with the defaults of the CRD; all defaults without a file.
 *
 * @throws SpecError with one error per line
 */
export function loadSpec(file: string | undefined): TokenRestartSpec {
  const block = file === undefined ? {} : blockOf(readDocuments(file), file);
  const errors = checkSpec(block, tokenRestartSchema(), PATH);
  if (errors.length > 0) throw new SpecError(errors.map(error => `${file ?? "default"}: ${error}`).join("\n"));
  return block as unknown as TokenRestartSpec;
}

function tokenRestartSchema(): Schema {
  const schema = schemaOf(KIND).properties?.["spec"]?.properties?.["tokenRestart"];
  if (schema === undefined) throw new SpecError(`the schema of ${KIND}: expected ${PATH}`);
  return schema;
}

function readDocuments(file: string): unknown[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new SpecError(`failed to read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  try {
    return readYaml(text).map(({ value }) => value);
  } catch (error) {
    if (error instanceof YamlError) throw new SpecError(`${file}: ${error.message}`);
    throw error;
  }
}

/** Finds the block in a ControllerResilience, in its spec, under the key tokenRestart, or as the whole document. */
function blockOf(documents: readonly unknown[], file: string): Record<string, unknown> {
  const document = documents.find(candidate => isMapping(candidate) && candidate["kind"] === KIND) ?? documents[0];
  if (!isMapping(document)) throw new SpecError(`${file}: expected a ControllerResilience or a tokenRestart block`);
  const spec = isMapping(document["spec"]) ? document["spec"] : document;
  if (!("tokenRestart" in spec) && ("targets" in spec || "kind" in document))
    throw new SpecError(`${file}: no tokenRestart block, so the remedy is off`);
  const block = "tokenRestart" in spec ? (spec["tokenRestart"] ?? {}) : spec;
  if (!isMapping(block)) throw new SpecError(`${file}: ${PATH}: expected type object, got ${JSON.stringify(block)}`);
  // The API server replaces null by the default.
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== null));
}
