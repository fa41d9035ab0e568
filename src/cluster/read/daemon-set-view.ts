import { MANAGER } from "../../api/names";
import type { DaemonSetView } from "../../core/views";
import { arrayOf, type JsonObject, numberOf, objectOf, textOf } from "../../core/json";
import { lastManagerOf } from "./managers";
import { workloadView } from "./views";

/** An apps/v1 DaemonSet with its pod template; null without uid, name or creation time. */
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

/** Keys of list entries in managedFields look like `k:{"name":"token"}`. */
const ENTRY = "k:";

function ownedVolumes(fields: readonly JsonObject[]): string[] {
  // What this project patches without server-side apply stands under its name too, as an Update, and is not given back by an apply.
  const own = fields.filter(entry => entry["manager"] === MANAGER && entry["operation"] === "Apply");
  return own.flatMap(entry => {
    const path = ["f:spec", "f:template", "f:spec", "f:volumes"];
    const volumes = path.reduce((at, step) => objectOf(at[step]), objectOf(entry["fieldsV1"]));
    return Object.entries(volumes).flatMap(([key, of]) => {
      const sources = objectOf(objectOf(of)["f:projected"])["f:sources"];
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
