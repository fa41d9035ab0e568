/* eslint-disable import-x/no-restricted-paths -- for tests alone: they share the simulated API server */
import { applyTo, fieldsOf } from "../../../../../test/simulation/server/managed-fields";
import type { Obj } from "../../../../../test/simulation/server/objects";
import { builtInSchema } from "../../../../../test/simulation/server/schema";
import { arrayOf, type JsonObject, objectIn, objectOf } from "../../../../core/json";
import { namedOf } from "../parts";

// Server-side apply with force for pod templates, as the simulated API server does it.

/** The operator's field manager. */
export const US = "controller-resilience";

const TYPE = { apiVersion: "v1", kind: "PodTemplate" };
const SCHEMA = builtInSchema(TYPE.kind);

/** A template, and the fields of each manager. */
export interface Managed {
  readonly template: JsonObject;
  readonly owners: Obj["metadata"]["managedFields"];
}

/** A new template, whose creator owns all fields. */
export function created(template: JsonObject): Managed {
  const fieldsV1 = fieldsOf({ template }, SCHEMA);
  const entry = { manager: "creator", operation: "Update", apiVersion: TYPE.apiVersion, time: "" } as const;
  return { template, owners: [{ ...entry, fieldsType: "FieldsV1", fieldsV1 }] };
}

/** The template after `manager` has applied a configuration with force. */
export function serverSideApply({ template, owners }: Managed, manager: string, config: JsonObject): Managed {
  const draft = { ...TYPE, metadata: { managedFields: owners }, template } as unknown as Obj;
  const by = { manager } as Parameters<typeof applyTo>[1]["by"];
  applyTo(draft, { config: { ...TYPE, template: config }, by, schema: SCHEMA, now: "" });
  return { template: defaulted(objectOf(draft["template"])), owners: draft.metadata.managedFields };
}

/** Volumes whose sources the operator owns. */
export function ownedVolumesOf({ template, owners = [] }: Managed): string[] {
  const ours = owners.find(({ manager }) => manager === US)?.fieldsV1;
  const volumes = namedOf(objectOf(template["spec"])["volumes"]).map(({ name }) => name);
  return volumes.filter(name => {
    const steps = ["f:template", "f:spec", "f:volumes", `k:${JSON.stringify({ name })}`, "f:projected", "f:sources"];
    return steps.reduce((fields: unknown, step) => objectIn(objectOf(fields)[step]), ours) !== undefined;
  });
}

/** Sets the API server's defaults of projected volumes. */
export function defaulted(template: JsonObject): JsonObject {
  const spec = objectOf(template["spec"]);
  if (!Array.isArray(spec["volumes"])) return template;
  const volumes = arrayOf(spec["volumes"]).map(volume => {
    const projected = objectIn(objectOf(volume)["projected"]);
    if (projected === undefined) return volume;
    const sources = arrayOf(projected["sources"]).map(defaultedSource);
    return { ...objectOf(volume), projected: { defaultMode: 420, ...projected, sources } };
  });
  return { ...template, spec: { ...spec, volumes } };
}

function defaultedSource(source: unknown): unknown {
  const token = objectIn(objectOf(source)["serviceAccountToken"]);
  if (token === undefined) return source;
  return { ...objectOf(source), serviceAccountToken: { expirationSeconds: 3600, ...token } };
}
