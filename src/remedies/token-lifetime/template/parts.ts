import { arrayOf, canonical, type JsonObject, objectIn, objectOf } from "../../../core/json";

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

/** Why a template stays unchanged although its tokens may be unbounded. */
export type LeftAloneReason =
  /** Admission injects no token, and the template has none. */
  | "AutomountOff"
  /** Every container mounts another volume at the token path. */
  | "OwnMount"
  /** The pods run on Windows. */
  | "WindowsNodes"
  /** Containers get the default token, and defaultToken is Leave. */
  | "DefaultTokenLeft"
  /** The template names a token for the API server that lives longer. Its lifetime is its author's choice. */
  | "OwnToken";

/** The change that a template needs. */
export type TemplatePlan =
  /** The template's tokens are bounded, and admission injects no other. */
  | { readonly kind: "Bounded" }
  | { readonly kind: "LeftAlone"; readonly reason: LeftAloneReason; readonly cause: string }
  | {
      readonly kind: "Change";
      readonly patch: TemplatePatch;
      /** The patch contains the operator's volume and its mounts. */
      readonly projects: boolean;
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

export interface VolumePatch {
  readonly name: string;
  readonly projected: { readonly defaultMode: number; readonly sources: readonly unknown[] };
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
    const [token, audience] = [objectIn(objectOf(source)["serviceAccountToken"]), audienceOf(source)];
    const isForOther = audience !== undefined && !audiences.includes(audience);
    return token === undefined || isForOther ? [] : [lifetimeOf(token)];
  });
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
  const [seconds = 0] = secondsOf(volume, []);
  return isOwnName && canonical(sourcesOf(volume)) === canonical(ownVolume(name, seconds).projected.sources);
}

/** Returns a name for the operator's volume that is not taken. */
export function freeName(taken: ReadonlySet<string>): string {
  let name = VOLUME_NAME;
  for (let suffix = 2; taken.has(name); suffix++) name = `${VOLUME_NAME}-${suffix}`;
  return name;
}

/** A volume of the template. */
export interface Volume {
  readonly name: string;
  readonly raw: JsonObject;
  /** The operator created it, and removes it when it is not needed any more. */
  readonly isOurs: boolean;
  /** Lifetimes of its tokens for the API server. */
  readonly seconds: readonly number[];
}

/** All volumes that have a name, in order. */
export function readVolumes({ template, audiences = [], ownedVolumes }: Omit<TemplateInput, "automount">): Volume[] {
  return namedOf(objectOf(objectOf(template)["spec"])["volumes"]).map(raw => {
    const isOurs = ownedVolumes.includes(raw.name) && looksOwn(raw.name, raw);
    return { name: raw.name, raw, isOurs, seconds: secondsOf(raw, audiences) };
  });
}

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
}

/** All containers and init containers that have a name, in order. */
export function readContainers(input: TemplateInput, ours: Volume | undefined): readonly Container[] {
  const spec = podSpecOf(input);
  return CONTAINER_LISTS.flatMap(list =>
    namedOf(spec[list]).map(raw => {
      const mount = tokenMountOf(raw);
      const has = mount === undefined ? "Nothing" : isOurs(mount, ours) ? "OurMount" : "OwnMount";
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
export function withoutOurMount(container: JsonObject, ours: Volume | undefined): JsonObject {
  const mount = tokenMountOf(container);
  if (mount === undefined || !isOurs(mount, ours)) return container;
  const { volumeMounts, ...rest } = container;
  const others = arrayOf(volumeMounts).filter(one => one !== mount);
  return others.length === 0 ? rest : { ...rest, volumeMounts: others };
}

function isOurs({ name }: JsonObject, ours: Volume | undefined): boolean {
  return ours !== undefined && name === ours.name;
}

function tokenMountOf(container: JsonObject): JsonObject | undefined {
  return arrayOf(container["volumeMounts"])
    .map(objectOf)
    .find(({ mountPath }) => mountPath === TOKEN_PATH);
}
