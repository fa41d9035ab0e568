import { parse } from "yaml";
import { crdText } from "../crd-text";
import type { Schema } from "./check";

type Kind = "ControllerResilience" | "ClusterControllerResilience";

const schemas = new Map<Kind, Schema>();

/** Returns the schema of the objects of a kind. */
export function schemaOf(kind: Kind): Schema {
  const known = schemas.get(kind) ?? parseSchema(kind);
  schemas.set(kind, known);
  return known;
}

function parseSchema(kind: Kind): Schema {
  const crd = parse(crdText(kind.toLowerCase())) as {
    spec: { versions: [{ schema: { openAPIV3Schema: Schema } }] };
  };
  return crd.spec.versions[0].schema.openAPIV3Schema;
}
