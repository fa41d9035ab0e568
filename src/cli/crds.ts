import { parse } from "yaml";
import { crdText } from "./crd-text";
import type { Schema } from "./replay/check-spec";

/** Returns the schema of the objects of a kind. */
export function schemaOf(kind: "ControllerResilience" | "ClusterControllerResilience"): Schema {
  const crd = parse(crdText(kind.toLowerCase())) as {
    spec: { versions: [{ schema: { openAPIV3Schema: Schema } }] };
  };
  return crd.spec.versions[0].schema.openAPIV3Schema;
}
