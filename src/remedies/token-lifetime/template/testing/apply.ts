/* eslint-disable import-x/no-restricted-paths -- for tests alone: they share the simulated API server */
import { applyTo, type Fields, fieldsOf, union, without } from "../../../../../test/simulation/server/managed-fields";
import type { Obj } from "../../../../../test/simulation/server/objects";
import { builtInSchema } from "../../../../../test/simulation/server/schema";
import { arrayOf, type JsonObject, objectIn, objectOf } from "../../../../core/json";
import { namedOf, type TemplatePatch, VOLUME_NAME } from "../parts";

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
  return { template, owners: entriesOf({ creator: fieldsOf({ template }, SCHEMA) }) };
}

function entriesOf(fields: Readonly<Record<string, Fields>>): NonNullable<Managed["owners"]> {
  return Object.entries(fields).map(([manager, fieldsV1]) => ({
    ...{ manager, operation: manager === US ? "Apply" : "Update", apiVersion: TYPE.apiVersion, time: "" },
    ...{ fieldsType: "FieldsV1", fieldsV1 },
  }));
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
  const isOwned = (name: string): boolean => sourcesOf(name).reduce(stepInto, ours) !== undefined;
  return volumesOf(template).flatMap(({ name }) => (isOwned(name) ? [name] : []));
}

const stepInto = (fields: unknown, step: string): JsonObject | undefined => objectIn(objectOf(fields)[step]);

/** Applies a patch of the operator if only the owners of the sources are known. */
export function applyPatch(
  template: JsonObject,
  ownedVolumes: readonly string[],
  patch: TemplatePatch,
): { readonly template: JsonObject; readonly ownedVolumes: readonly string[] } {
  const isOurs = ({ name }: { readonly name?: unknown }): boolean =>
    ownedVolumes.includes(String(name)) && String(name).startsWith(VOLUME_NAME);
  const volumes = volumesOf(template).filter(isOurs);
  const parts = [
    fieldsOf({ template: { spec: { volumes } } }, SCHEMA),
    ...ownedVolumes.map(name => nested(sourcesOf(name))),
    ...(["containers", "initContainers"] as const).flatMap(list =>
      namedOf(objectOf(template["spec"])[list]).map(({ name, volumeMounts }) => {
        const mounts = arrayOf(volumeMounts).map(objectOf).filter(isOurs);
        const fields = fieldsOf({ volumeMounts: mounts }, builtInSchema("Container"));
        return nested([...SPEC, `f:${list}`, itemOf(name)], fields);
      }),
    ),
  ];
  const ours = parts.reduce(union);
  const owners = entriesOf({ creator: without(fieldsOf({ template }, SCHEMA), ours), [US]: ours });
  const applied = serverSideApply({ template, owners }, US, { spec: patch });
  return { template: applied.template, ownedVolumes: ownedVolumesOf(applied) };
}

const SPEC = ["f:template", "f:spec"];
const itemOf = (name: string): string => `k:${JSON.stringify({ name })}`;
const sourcesOf = (volume: string): string[] => [...SPEC, "f:volumes", itemOf(volume), "f:projected", "f:sources"];
const nested = (steps: readonly string[], inner: Fields = {}): Fields =>
  steps.reduceRight((fields, step) => ({ [step]: fields }), inner);
const volumesOf = (template: JsonObject) => namedOf(objectOf(template["spec"])["volumes"]);

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
