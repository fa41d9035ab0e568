import { arrayOf, type JsonObject, objectOf } from "../../../core/json";
import { namedOf } from "./json";
import { type ContainerPatch, podSpecOf, type TemplateInput } from "./model";
import type { Volume } from "./volumes";

/**
 * The token path. Admission compares mount paths as strings: a mount with a trailing slash or by way of `/run` does not count.
 */
export const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Admission uses any volume with this name prefix as its own. */
const ADMISSION_PREFIX = "kube-api-access-";

/** The lists in which admission mounts a token. A template has no ephemeral containers. */
export const CONTAINER_LISTS = ["initContainers", "containers"] as const;

/** A container, and its mount at the token path. */
export interface Container {
  readonly list: (typeof CONTAINER_LISTS)[number];
  readonly name: string;
  /** Nothing: admission mounts the default token. OurMount: the operator's volume. OwnMount: another volume. */
  readonly has: "Nothing" | "OurMount" | "OwnMount";
  /** The operator's volume, but mounted with other options. */
  readonly isOdd: boolean;
}

/** All containers and init containers that have a name, in order. */
export function readContainers(input: TemplateInput, tokenVolume: Volume | undefined): readonly Container[] {
  const spec = podSpecOf(input);
  return CONTAINER_LISTS.flatMap(list =>
    namedOf(spec[list]).map(raw => {
      const mount = tokenMountOf(raw);
      const has = mount === undefined ? "Nothing" : isOurMount(mount, tokenVolume) ? "OurMount" : "OwnMount";
      return { list, name: raw.name, has, isOdd: has === "OurMount" && mount?.["readOnly"] !== true };
    }),
  );
}

/** Reports whether admission mounts the default token into containers without a mount at the token path. */
export function isInjected(input: TemplateInput, volumes: readonly Volume[]): boolean {
  return !isAutomountOff(input) && !volumes.some(({ name }) => name.startsWith(ADMISSION_PREFIX));
}

/** The pod template takes precedence over the ServiceAccount; the default is on. */
export function isAutomountOff(input: TemplateInput): boolean {
  return !(templateAutomount(input) ?? input.automount ?? true);
}

/** The setting of the pod template, if it has one. */
export function templateAutomount(input: TemplateInput): boolean | undefined {
  const automount = podSpecOf(input)["automountServiceAccountToken"];
  return typeof automount === "boolean" ? automount : undefined;
}

/** The mount that admission would add, from this volume. */
export function mountPatch({ name }: Container, volume: string): ContainerPatch {
  return { name, volumeMounts: [{ mountPath: TOKEN_PATH, name: volume, readOnly: true }] };
}

/** The container without the operator's mount; the same object if it has none. */
export function withoutOurMount(container: JsonObject, tokenVolume: Volume | undefined): JsonObject {
  const mount = tokenMountOf(container);
  if (mount === undefined || !isOurMount(mount, tokenVolume)) return container;
  const { volumeMounts, ...rest } = container;
  const others = arrayOf(volumeMounts).filter(one => one !== mount);
  return others.length === 0 ? rest : { ...rest, volumeMounts: others };
}

/** Reports whether a mount is of the operator's volume. A mount of an equal foreign volume counts only if it is read-only. */
function isOurMount(mount: JsonObject, tokenVolume: Volume | undefined): boolean {
  if (tokenVolume === undefined || mount["name"] !== tokenVolume.name) return false;
  return tokenVolume.isOurs || mount["readOnly"] === true;
}

function tokenMountOf(container: JsonObject): JsonObject | undefined {
  return arrayOf(container["volumeMounts"])
    .map(objectOf)
    .find(({ mountPath }) => mountPath === TOKEN_PATH);
}
