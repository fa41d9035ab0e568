import { hash } from "node:crypto";
import { arrayOf, canonical, type JsonObject, objectIn, objectOf } from "../../../core/json";
import {
  CONTAINER_LISTS,
  podSpecOf,
  type PreviousSeconds,
  type TemplateInput,
  withoutOurMount,
  withSeconds,
} from "./parts";
import { type Reading, readTemplate } from "./plan";

/** Digits of the hash; enough to distinguish the templates of one DaemonSet. */
const LENGTH = 16;

/**
 * Hashes a template without the operator's fields: the same before and after a change and its release. The order of keys does not
 * matter.
 */
export function fingerprint(input: TemplateInput, previous: readonly PreviousSeconds[]): string {
  const reading = readTemplate(input, previous);
  const template = objectOf(input.template);
  const metadata = withoutRestarts(template["metadata"]);
  const original = { ...template, metadata, spec: originalSpec(podSpecOf(input), reading) };
  return hash("sha256", canonical(original), "hex").slice(0, LENGTH);
}

/** Set by kubectl rollout restart, which replaces pods without another change. */
const KUBECTL_RESTARTED_AT = "kubectl.kubernetes.io/restartedAt";

/** Metadata without the annotations of restarts. */
function withoutRestarts(metadata: unknown): unknown {
  const { annotations, ...rest } = objectOf(metadata);
  const others = { ...objectOf(annotations) };
  Reflect.deleteProperty(others, KUBECTL_RESTARTED_AT);
  return Object.keys(others).length === 0 ? rest : { ...rest, annotations: others };
}

function originalSpec(spec: JsonObject, reading: Reading): JsonObject {
  const volumes = arrayOf(spec["volumes"]).flatMap(volume => originalVolume(volume, reading));
  const lists = CONTAINER_LISTS.map(list => [list, originalContainers(spec[list], reading)] as const);
  // A missing list is equal to an empty one.
  return { ...spec, volumes, ...Object.fromEntries(lists) };
}

function originalVolume(raw: unknown, { volumes }: Reading): unknown[] {
  const volume = volumes.find(one => one.raw === raw);
  if (volume === undefined || volume.before.length === 0) return [raw];
  const projected = {
    ...objectOf(volume.raw["projected"]),
    sources: withSeconds(volume.raw, volume.before, volume.audiences),
  };
  return volume.isOurs ? [] : [{ ...volume.raw, projected }];
}

function originalContainers(list: unknown, { tokenVolume }: Reading): unknown[] {
  return arrayOf(list).map(item => {
    const container = objectIn(item);
    return container === undefined ? item : withoutOurMount(container, tokenVolume);
  });
}
