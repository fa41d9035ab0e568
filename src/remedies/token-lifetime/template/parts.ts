import { arrayOf, canonical, type JsonObject, objectIn, objectOf } from "../../../core/json";
import { ADMISSION_PREFIX } from "../../../core/text";

/** The input of a template plan. */
export interface TemplateInput {
  /** `spec.template` of the DaemonSet, as the API server returns it. */
  readonly template: JsonObject;
  /** `automountServiceAccountToken` of the ServiceAccount; undefined: not set. */
  readonly automount: boolean | undefined;
  /** Audiences of the API server: a token that names one is for it. Absent: none is known. */
  readonly audiences?: readonly string[] | undefined;
  /** Volumes whose `projected.sources` the operator's field manager owns. */
  readonly ownedVolumes: readonly string[];
}

/** `spec` of the template, or an empty object. */
export function podSpecOf({ template }: TemplateInput): JsonObject {
  return objectOf(objectOf(template)["spec"]);
}

/** The part of the spec that templates depend on. */
export interface TemplateSpec {
  readonly expirationSeconds: number;
  readonly defaultToken: "Project" | "Leave";
}

/**
 * The previous lifetime of one token. A volume with several tokens for the API server has as many entries, in the order of its sources, so
 * the order of the list matters.
 */
export interface PreviousSeconds {
  readonly volume: string;
  readonly expirationSeconds: number;
}

/** Why a template stays unchanged although its tokens may be unbounded. */
export type LeftAloneReason = "AutomountOff" | "OwnMount" | "WindowsNodes" | "DefaultTokenLeft";

/** The change that a template needs. */
export type TemplatePlan =
  /** The template's tokens are bounded, and admission injects no other. */
  | { readonly kind: "Bounded" }
  | { readonly kind: "LeftAlone"; readonly reason: LeftAloneReason; readonly cause: string }
  | {
      readonly kind: "Change";
      readonly patch: TemplatePatch;
      /** For every foreign volume in the patch; replaces the recorded list. */
      readonly previous: readonly PreviousSeconds[];
      /** It shortens no token, and only takes back what the operator added. */
      readonly restores: boolean;
    };

/**
 * Body of a server-side apply under `spec.template.spec`, always with every field that the operator owns: the API server removes owned
 * fields that the patch omits. An empty patch releases all fields.
 */
export interface TemplatePatch {
  readonly volumes?: readonly VolumePatch[];
  readonly containers?: readonly ContainerPatch[];
  readonly initContainers?: readonly ContainerPatch[];
}

/** `sources` is an atomic list, so the patch contains all of it. */
export interface VolumePatch {
  readonly name: string;
  readonly projected: { readonly defaultMode?: number; readonly sources: readonly unknown[] };
}

export interface ContainerPatch {
  readonly name: string;
  readonly volumeMounts: readonly {
    readonly mountPath: string;
    readonly name: string;
    readonly readOnly: true;
  }[];
}

/** Returns the objects of a list that have a name, which the API server requires of volumes and containers. */
export function namedOf(value: unknown): readonly (JsonObject & { readonly name: string })[] {
  return arrayOf(value)
    .map(objectOf)
    .filter((item): item is JsonObject & { readonly name: string } => typeof item["name"] === "string");
}

/** The API server's default for expirationSeconds. */
const DEFAULT_SECONDS = 3600;

/** The sources of a projected volume; empty for other volumes. */
function sourcesOf(volume: JsonObject): readonly unknown[] {
  return arrayOf(objectOf(volume["projected"])["sources"]);
}

/** The lifetimes of its API server tokens, in the order of the sources. A token with another audience is not for the API server. */
function secondsOf(volume: JsonObject, audiences: readonly string[]): readonly number[] {
  return sourcesOf(volume).flatMap(source => {
    const token = apiTokenOf(source, audiences);
    return token === undefined ? [] : [lifetimeOf(token)];
  });
}

/** The complete list of sources with these lifetimes, otherwise unchanged. */
export function withSeconds(
  volume: JsonObject,
  seconds: readonly number[],
  audiences: readonly string[],
): readonly unknown[] {
  const rest = [...seconds];
  return sourcesOf(volume).map(source => {
    const token = apiTokenOf(source, audiences);
    const wanted = token === undefined ? undefined : rest.shift();
    if (token === undefined || wanted === undefined || token["expirationSeconds"] === wanted) return source;
    return { ...objectOf(source), serviceAccountToken: { ...token, expirationSeconds: wanted } };
  });
}

function apiTokenOf(source: unknown, audiences: readonly string[]): JsonObject | undefined {
  const audience = audienceOf(source);
  if (audience !== undefined && !audiences.includes(audience)) return undefined;
  return objectIn(objectOf(source)["serviceAccountToken"]);
}

function audienceOf(source: unknown): string | undefined {
  const audience = objectOf(objectOf(source)["serviceAccountToken"])["audience"];
  return typeof audience === "string" && audience !== "" ? audience : undefined;
}

/** Reports whether a token of the template names an audience. */
export function namesAudience(input: TemplateInput): boolean {
  return arrayOf(podSpecOf(input)["volumes"])
    .map(objectOf)
    .flatMap(sourcesOf)
    .some(one => audienceOf(one) !== undefined);
}

function lifetimeOf({ expirationSeconds }: JsonObject): number {
  const isNumber = typeof expirationSeconds === "number" && Number.isFinite(expirationSeconds);
  return isNumber ? expirationSeconds : DEFAULT_SECONDS;
}

/** Name of the operator's volume, unless another volume has it. */
export const VOLUME_NAME = "controller-resilience-token";

/** The default of projected volumes, which admission sets too. */
const DEFAULT_MODE = 0o644;

/** The volume that the ServiceAccount admission plugin mounts (TokenVolumeSource), with another lifetime. */
export function ownVolume(name: string, expirationSeconds: number): VolumePatch {
  return {
    name,
    projected: {
      defaultMode: DEFAULT_MODE,
      sources: [
        { serviceAccountToken: { path: "token", expirationSeconds } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    },
  };
}

/** Reports whether name and contents are those of the operator's volume, with any token lifetime. */
function looksOwn(name: string, volume: JsonObject): boolean {
  const isOwnName = /^controller-resilience-token(-[1-9]\d*)?$/.test(name);
  return isOwnName && canonical(withSeconds(volume, [0], [])) === canonical(sourcesOf({ ...ownVolume(name, 0) }));
}

/** Reports whether its files have the mode of the operator's volume. */
function hasDefaultMode(volume: JsonObject): boolean {
  return (objectOf(volume["projected"])["defaultMode"] ?? DEFAULT_MODE) === DEFAULT_MODE;
}

/** Returns a name for the operator's volume that is not taken. */
export function freeName(taken: ReadonlySet<string>): string {
  let name = VOLUME_NAME;
  for (let suffix = 2; taken.has(name); suffix++) name = `${VOLUME_NAME}-${suffix}`;
  return name;
}

/** A volume of the template and its owner. */
export interface Volume {
  readonly name: string;
  readonly raw: JsonObject;
  /** Those of its tokens that are for the API server name one of these, or none. */
  readonly audiences: readonly string[];
  /** The operator's field manager owns its sources. */
  readonly isOwned: boolean;
  /** The operator created it, and removes it when it is not needed any more. */
  readonly isOurs: boolean;
  /** Current lifetimes of its API server tokens. */
  readonly now: readonly number[];
  /** Their lifetimes before the operator's change. */
  readonly before: readonly number[];
}

/** All volumes that have a name, in order. */
export function readVolumes(input: TemplateInput, previous: readonly PreviousSeconds[]): readonly Volume[] {
  const { audiences = [], ownedVolumes } = input;
  const owned = new Set(ownedVolumes);
  return namedOf(podSpecOf(input)["volumes"]).map(raw => {
    const { name } = raw;
    const known = previous.filter(({ volume }) => volume === name).map(({ expirationSeconds }) => expirationSeconds);
    const now = secondsOf(raw, audiences);
    // Without ownership the recorded lifetimes are out of date.
    const before = owned.has(name) ? now.map((seconds, i) => known[i] ?? seconds) : now;
    // Only foreign volumes have recorded lifetimes.
    const isOurs = owned.has(name) && known.length === 0 && looksOwn(name, raw);
    return { name, raw, audiences, isOwned: owned.has(name), isOurs, now, before };
  });
}

/** The volume that containers without a token mount: the operator's, or one that is equal to it. */
export function tokenVolumeOf(volumes: readonly Volume[]): Volume | undefined {
  const lookalike = ({ name, raw }: Volume): boolean => looksOwn(name, raw) && hasDefaultMode(raw);
  return volumes.find(({ isOurs }) => isOurs) ?? volumes.find(lookalike);
}

/** The token path. Admission compares mount paths as strings: a mount with a trailing slash or by way of `/run` does not count. */
export const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The lists in which admission mounts a token. A template has no ephemeral containers. */
export const CONTAINER_LISTS = ["initContainers", "containers"] as const;

/** A container, and its mount at the token path. */
export interface Container {
  readonly list: (typeof CONTAINER_LISTS)[number];
  readonly name: string;
  /** Nothing: admission mounts the default token. OurMount: the operator's volume. OwnMount: another volume. */
  readonly has: "Nothing" | "OurMount" | "OwnMount";
}

/** All containers and init containers that have a name, in order. */
export function readContainers(input: TemplateInput, tokenVolume: Volume | undefined): readonly Container[] {
  const spec = podSpecOf(input);
  return CONTAINER_LISTS.flatMap(list =>
    namedOf(spec[list]).map(raw => {
      const mount = tokenMountOf(raw);
      const has = mount === undefined ? "Nothing" : isOurMount(mount, tokenVolume) ? "OurMount" : "OwnMount";
      return { list, name: raw.name, has };
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
