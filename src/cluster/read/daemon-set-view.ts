import { MANAGER } from "../../api/names";
import type { DaemonSetView } from "../../core/views";
import { arrayOf, type JsonObject, numberOf, objectOf, textOf } from "../../core/json";
import { lastManagerOf } from "./managers";
import { workloadView } from "./views";

/** Returns the view of an apps/v1 DaemonSet; null without uid, name or creation time. */
export function daemonSetView(raw: unknown): DaemonSetView | null {
  const view = workloadView("DaemonSet", raw);
  if (view === null) return null;
  const object = objectOf(raw);
  const metadata = objectOf(object["metadata"]);
  const spec = objectOf(object["spec"]);
  const status = objectOf(object["status"]);
  const fields = arrayOf(metadata["managedFields"]).map(objectOf);
  const lastManager = lastManagerOf(fields);
  return {
    ...view,
    kind: "DaemonSet",
    generation: numberOf(metadata["generation"]) ?? 0,
    observedGeneration: numberOf(status["observedGeneration"]) ?? 0,
    updateStrategy: textOf(objectOf(spec["updateStrategy"])["type"]) ?? "RollingUpdate",
    updatedPods: numberOf(status["updatedNumberScheduled"]) ?? 0,
    availablePods: numberOf(status["numberAvailable"]) ?? 0,
    template: objectOf(spec["template"]),
    ownedVolumes: ownedVolumes(fields),
    ...(lastManager === undefined ? {} : { lastManager }),
  };
}

/** Prefix of list entries in managedFields, such as `k:{"name":"token"}`. */
const ENTRY = "k:";

function ownedVolumes(fields: readonly JsonObject[]): string[] {
  // Patches without server-side apply have the same manager with the operation Update; a later apply does not give those fields back.
  const applied = fields.filter(entry => entry["manager"] === MANAGER && entry["operation"] === "Apply");
  return applied.flatMap(entry => {
    const path = ["f:spec", "f:template", "f:spec", "f:volumes"];
    const volumes = path.reduce((at, step) => objectOf(at[step]), objectOf(entry["fieldsV1"]));
    return Object.entries(volumes).flatMap(([key, volume]) => {
      const sources = objectOf(objectOf(volume)["f:projected"])["f:sources"];
      return sources === undefined ? [] : (nameIn(key) ?? []);
    });
  });
}

function nameIn(key: string): string | undefined {
  if (!key.startsWith(ENTRY)) return undefined;
  try {
    return textOf(objectOf(JSON.parse(key.slice(ENTRY.length)))["name"]);
  } catch {
    return undefined;
  }
}
