import type { V1DaemonSet, V1DaemonSetSpec, V1DaemonSetStatus } from "@kubernetes/client-node";
import { MANAGER } from "../../api/names";
import { numberOf, objectOf, textOf } from "../../core/json";
import type { DaemonSetView } from "../../core/views";
import { ownerOf } from "./identity";
import { lastManagerOf, type ManagedFields } from "./managers";
import { itemsOf, present, type Received } from "./received";
import { workloadView } from "./views";

/** Returns the view of an apps/v1 DaemonSet; null without uid, name or creation time. */
export function daemonSetView(raw: unknown): DaemonSetView | null {
  const view = workloadView("DaemonSet", raw);
  if (view === null) return null;
  const { metadata, spec, status } = objectOf(raw) as Received<V1DaemonSet>;
  const fields = itemsOf(metadata?.managedFields);
  return {
    ...view,
    kind: "DaemonSet",
    generation: metadata?.generation ?? 0,
    ...rolloutOf(status ?? {}),
    ...specOf(spec ?? {}),
    ownedVolumes: ownedVolumes(fields),
    ...(ownsUpdateStrategy(fields) && { ownsUpdateStrategy: true }),
    ...present({
      lastManager: lastManagerOf(fields),
      owner: ownerOf(metadata),
      strategyManager: strategyManager(fields),
    }),
  };
}

type SpecView = Pick<DaemonSetView, "updateStrategy" | "maxUnavailable" | "maxSurge" | "minReadySeconds" | "template">;

function specOf({ updateStrategy, minReadySeconds, template }: Received<V1DaemonSetSpec>): SpecView {
  const { maxUnavailable, maxSurge } = updateStrategy?.rollingUpdate ?? {};
  return {
    updateStrategy: updateStrategy?.type ?? "RollingUpdate",
    ...present({ maxUnavailable: intOrPercent(maxUnavailable), maxSurge: intOrPercent(maxSurge) }),
    minReadySeconds: numberOf(minReadySeconds) ?? 0,
    template: template ?? {},
  };
}

function intOrPercent(value: unknown): number | string | undefined {
  return numberOf(value) ?? textOf(value);
}

function rolloutOf(
  status: Received<V1DaemonSetStatus>,
): Pick<DaemonSetView, "observedGeneration" | "updatedPods" | "availablePods"> {
  return {
    observedGeneration: status.observedGeneration ?? 0,
    updatedPods: status.updatedNumberScheduled ?? 0,
    availablePods: status.numberAvailable ?? 0,
  };
}

/** Prefix of list entries in managedFields, such as `k:{"name":"token"}`. */
const ENTRY = "k:";

/** Patches without server-side apply have the same manager with the operation Update; a later apply does not give those fields back. */
function isOurs({ manager, operation }: ManagedFields): boolean {
  return manager === MANAGER && operation === "Apply";
}

/** fieldsV1 has no schema, and a client can write it, so each level of it is checked. */
function fieldsAt({ fieldsV1 }: ManagedFields, path: readonly string[]): Readonly<Record<string, unknown>> {
  return path.reduce((at, step) => objectOf(at[step]), objectOf(fieldsV1));
}

function ownsUpdateStrategy(fields: readonly ManagedFields[]): boolean {
  return fields.some(one => isOurs(one) && hasStrategyType(one));
}

function strategyManager(fields: readonly ManagedFields[]): string | undefined {
  return fields.find(one => !isOurs(one) && hasStrategyType(one))?.manager ?? undefined;
}

function hasStrategyType(fields: ManagedFields): boolean {
  return "f:type" in fieldsAt(fields, ["f:spec", "f:updateStrategy"]);
}

function ownedVolumes(fields: readonly ManagedFields[]): string[] {
  return fields.filter(isOurs).flatMap(one => {
    const volumes = fieldsAt(one, ["f:spec", "f:template", "f:spec", "f:volumes"]);
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
