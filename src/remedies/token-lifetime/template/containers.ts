import { arrayOf, type JsonObject, objectOf } from "../../../core/json";
import { namedOf } from "./json";
import { type ContainerPatch, podSpecOf, type TemplateInput } from "./model";
import type { Volume } from "./volumes";

/**
 * Where the token is expected. Admission compares mount paths with it as texts: a mount at the same path with a slash at its end does not
 * count, nor does one by way of `/run`.
 */
export const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Admission takes a volume with such a name for its own, whatever is in it. */
const ADMISSION_PREFIX = "kube-api-access-";

/** The two lists in which admission mounts a token. Ephemeral containers are none of a template. */
export const CONTAINER_LISTS = ["initContainers", "containers"] as const;

/** What stands at the token's path in a container. */
export interface Container {
  readonly list: (typeof CONTAINER_LISTS)[number];
  readonly name: string;
  /** Nothing: admission would mount the default token there. OurMount: the operator's. OwnMount: something else. */
  readonly has: "Nothing" | "OurMount" | "OwnMount";
  /** Ours, but not as the operator would mount it. */
  readonly isOdd: boolean;
}

/** All containers and init containers that have a name, in their order. */
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

/** Would admission mount the default token into containers that have nothing at the token's path? */
export function isInjected(input: TemplateInput, volumes: readonly Volume[]): boolean {
  return !isAutomountOff(input) && !volumes.some(({ name }) => name.startsWith(ADMISSION_PREFIX));
}

/** The pod template's word counts before the ServiceAccount's; without either it is on. */
export function isAutomountOff(input: TemplateInput): boolean {
  const own = templateAutomount(input);
  return !(own ?? input.automount ?? true);
}

/** The pod template's word, if it has one. */
export function templateAutomount(input: TemplateInput): boolean | undefined {
  const own = podSpecOf(input)["automountServiceAccountToken"];
  return typeof own === "boolean" ? own : undefined;
}

/** Exactly as admission would mount it, from that volume. */
export function mountPatch({ name }: Container, volume: string): ContainerPatch {
  return { name, volumeMounts: [{ mountPath: TOKEN_PATH, name: volume, readOnly: true }] };
}

/** The container without the operator's mount; the very same one if it has none. */
export function withoutOurMount(container: JsonObject, tokenVolume: Volume | undefined): JsonObject {
  const mount = tokenMountOf(container);
  if (mount === undefined || !isOurMount(mount, tokenVolume)) return container;
  const { volumeMounts, ...rest } = container;
  const others = arrayOf(volumeMounts).filter(one => one !== mount);
  return others.length === 0 ? rest : { ...rest, volumeMounts: others };
}

/** The names of a volume's mount and of the operator's volume agree; where that is somebody else's, the mount has to be read-only as ours. */
function isOurMount(mount: JsonObject, tokenVolume: Volume | undefined): boolean {
  if (tokenVolume === undefined || mount["name"] !== tokenVolume.name) return false;
  return tokenVolume.isOurs || mount["readOnly"] === true;
}

function tokenMountOf(container: JsonObject): JsonObject | undefined {
  return arrayOf(container["volumeMounts"])
    .map(objectOf)
    .find(({ mountPath }) => mountPath === TOKEN_PATH);
}
