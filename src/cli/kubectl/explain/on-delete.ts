import type { ControllerResilience, LabelSelector, TargetStatus } from "../../../api/controller-resilience";
import { objectOf, textOf, type JsonObject } from "../../../core/json";
import { KINDS } from "../../../core/kinds";
import { shellWord } from "../change/change";
import type { PartialReader } from "../partial-reader";

/** A workload for which `kubectl rollout restart` replaces no pod. */
export interface ByHand {
  /** False: its update strategy could not be read. */
  readonly isKnown: boolean;
  /** Its pods, as a flag of kubectl; empty: not known. */
  readonly selector: string;
}

/** The workloads that are not rolled out, as `namespace/Kind/name`. */
export type OnDelete = ReadonlyMap<string, ByHand>;

/** Identifies a target in OnDelete. */
export function onDeleteKey(namespace: string, { kind, name }: Pick<TargetStatus, "kind" | "name">): string {
  return `${namespace}/${kind}/${name}`;
}

const MOST_PER_OBJECT = 3;
/** A namespace may have many objects; `explain` shows few. */
const MOST_READS = 12;

/** Returns the workloads of an object for which a restart by hand is offered: the operator only observes their rejected pods. */
export function toRestart({ status }: ControllerResilience): TargetStatus[] {
  if (status?.conditions?.some(({ reason }) => reason === "WouldRestart") !== true) return [];
  return (status.targets ?? [])
    .filter(({ kind, rejectedPods }) => rejectedPods > 0 && (kind === "Deployment" || hasStrategy(kind)))
    .slice(0, MOST_PER_OBJECT);
}

function hasStrategy(kind: string): kind is "StatefulSet" | "DaemonSet" {
  return kind === "StatefulSet" || kind === "DaemonSet";
}

/** Reads which of those workloads have the update strategy OnDelete. */
export async function readOnDelete(
  reader: Pick<PartialReader, "get">,
  objects: readonly ControllerResilience[],
): Promise<OnDelete> {
  const found = new Map<string, ByHand>();
  const targets = objects.flatMap(object =>
    toRestart(object).map(target => ({ ...target, namespace: object.metadata.namespace })),
  );
  for (const target of targets.slice(0, MOST_READS)) {
    const { kind, namespace, name } = target;
    if (!hasStrategy(kind)) continue;
    const raw = await reader.get(KINDS[kind], { namespace, name });
    if (raw === null) continue;
    const { updateStrategy, selector } = objectOf(raw?.["spec"]);
    if (raw !== undefined && textOf(objectOf(updateStrategy)["type"]) !== "OnDelete") continue;
    found.set(onDeleteKey(namespace, target), { isKnown: raw !== undefined, selector: flagOf(objectOf(selector)) });
  }
  return found;
}

function flagOf({ matchLabels, matchExpressions = [] }: JsonObject & LabelSelector): string {
  const parts = [
    ...Object.entries(matchLabels ?? {}).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      if (operator === "Exists") return key;
      return operator === "DoesNotExist" ? `!${key}` : `${key} ${operator.toLowerCase()} (${values.join(",")})`;
    }),
  ];
  return parts.length === 0 ? "" : ` -l ${shellWord(parts.join(","))}`;
}
