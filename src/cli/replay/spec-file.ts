import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments } from "yaml";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { KIND } from "../../api/names";
import { complaintsAbout, isBag, withDefaults, type Schema } from "./schema";

const CRD = join(__dirname, "../../../crds/controllerresilience.yaml");

/** Something is wrong with the file of `--spec`; the message is for people. */
export class SpecError extends Error {}

/**
 * The tokenRestart block of a file, or the default one, with everything defaulted by the resource's own schema.
 *
 * @throws SpecError with one sentence per line
 */
export function loadSpec(path: string | undefined): TokenRestartSpec {
  const block = path === undefined ? {} : blockOf(readDocuments(path), path);
  const schema = schemaOfTokenRestart();
  const spec = withDefaults(block, schema);
  const complaints = complaintsAbout(spec, schema, "tokenRestart");
  if (complaints.length > 0) throw new SpecError(complaints.map(line => `${path ?? "default"}: ${line}`).join("\n"));
  return spec as TokenRestartSpec;
}

function schemaOfTokenRestart(): Schema {
  const crd = parse(readFileSync(CRD, "utf8")) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
  const schema = crd.spec.versions[0]?.schema.openAPIV3Schema.properties?.["spec"]?.properties?.["tokenRestart"];
  if (schema === undefined) throw new SpecError(`${CRD}: expected spec.tokenRestart in the schema`);
  return schema;
}

function readDocuments(path: string): unknown[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new SpecError(`${path} can't be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return parseAllDocuments(text).map(document => {
    const [error] = document.errors;
    if (error !== undefined) throw new SpecError(`${path} is neither YAML nor JSON: ${error.message}`);
    return document.toJS() as unknown;
  });
}

/** A ControllerResilience, its spec, a mapping with the key tokenRestart, or the block itself. */
function blockOf(documents: readonly unknown[], path: string): unknown {
  const document = documents.find(candidate => isBag(candidate) && candidate["kind"] === KIND) ?? documents[0];
  if (!isBag(document)) throw new SpecError(`${path}: expected a ControllerResilience or a tokenRestart block`);
  const spec = isBag(document["spec"]) ? document["spec"] : document;
  if ("tokenRestart" in spec) return spec["tokenRestart"] ?? {};
  if ("targets" in spec || "kind" in document)
    throw new SpecError(`${path}: it has no tokenRestart block, so nothing would act on a log`);
  return spec;
}
