import type { PreviousExpiration, TokenLifetimeSpec } from "../../../api/controller-resilience";
import { arrayOf, canonical, type JsonObject, numberOf, objectIn, objectOf, textOf } from "../../../core/json";
import { ADMISSION_PREFIX } from "../../../core/text";
import type { DaemonSetView } from "../../../core/views";

// What matters of a pod template: its volumes with tokens, its containers with their mounts, and whose they are. Total.

/** The input of a template plan. */
export interface TemplateInput extends Pick<DaemonSetView, "template" | "ownedVolumes" | "apiAudiences"> {
  /** `automountServiceAccountToken` of the ServiceAccount; absent: not set. */
  readonly automount?: boolean | undefined;
}

/** The part of the spec that templates depend on. */
export type TemplateSpec = Pick<TokenLifetimeSpec, "expirationSeconds" | "defaultToken">;

/**
 * The previous lifetime of one token. A volume with several tokens for the API server has as many entries, in the order of its sources, so
 * the order of the list matters.
 */
export type PreviousSeconds = Readonly<PreviousExpiration>;

/** Why a template stays unchanged although its tokens may be unbounded. */
export type LeftAloneReason = "AutomountOff" | "OwnMount" | "WindowsNodes" | "DefaultTokenLeft";

/** What a template needs. */
export type TemplatePlan = {
  readonly patch: TemplatePatch;
  /** For every foreign volume in the patch; replaces the recorded list. */
  readonly previous: readonly PreviousSeconds[];
  /** Of the template without the operator's fields: the same before and after a change and its release. */
  readonly fingerprint: string;
} & (
  | {
      /**
       * Bounded: its tokens are, and admission injects no other. Change: a token has to be shortened. Restore: what the operator added has
       * to be taken back, and no token to be shortened.
       */
      readonly kind: "Bounded" | "Change" | "Restore";
    }
  | { readonly kind: "LeftAlone"; readonly reason: LeftAloneReason; readonly cause: string }
);

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

/** A source of a projected volume. */
interface Source {
  readonly raw: unknown;
  /** Its token, if that is for the API server. */
  readonly token: JsonObject | undefined;
}

/** A volume of the template and its owner. */
export interface Volume {
  readonly name: string;
  readonly raw: JsonObject;
  /** Empty: it is no projected volume. */
  readonly sources: readonly Source[];
  /** The operator's field manager owns its sources. */
  readonly isOwned: boolean;
  /** Name and contents are those of the operator's volume, with any token lifetime. */
  readonly looksOwn: boolean;
  /** The operator created it, and removes it when it is not needed any more. */
  readonly isOurs: boolean;
  /** Current lifetimes of its API server tokens, in the order of the sources. */
  readonly now: readonly number[];
  /** Their lifetimes before the operator's change. */
  readonly before: readonly number[];
}

function readVolume(
  raw: JsonObject & { readonly name: string },
  { ownedVolumes, apiAudiences = [] }: TemplateInput,
  previous: readonly PreviousSeconds[],
): Volume {
  const { name } = raw;
  const sources = sourcesOf(raw).map(source => ({ raw: source, token: apiTokenOf(source, apiAudiences) }));
  const now = sources.flatMap(({ token }) => (token === undefined ? [] : [lifetimeOf(token)]));
  const known = previous.filter(({ volume }) => volume === name).map(({ expirationSeconds }) => expirationSeconds);
  const isOwned = ownedVolumes.includes(name);
  const looksOwn =
    /^controller-resilience-token(-[1-9]\d*)?$/.test(name) &&
    canonical(withSeconds({ sources }, [0])) === canonical(ownVolume(name, 0).projected.sources);
  // Without ownership the recorded lifetimes are out of date.
  const before = isOwned ? now.map((seconds, i) => known[i] ?? seconds) : now;
  // Only foreign volumes have recorded lifetimes.
  return { name, raw, sources, isOwned, looksOwn, isOurs: isOwned && known.length === 0 && looksOwn, now, before };
}

/** The sources of a projected volume; empty for other volumes. */
function sourcesOf(volume: JsonObject): readonly unknown[] {
  return arrayOf(objectOf(volume["projected"])["sources"]);
}

/** A token with another audience is not for the API server. */
function apiTokenOf(source: unknown, apiAudiences: readonly string[]): JsonObject | undefined {
  const audience = audienceOf(source);
  if (audience !== undefined && !apiAudiences.includes(audience)) return undefined;
  return objectIn(objectOf(source)["serviceAccountToken"]);
}

/** The audience that a token of the template names. */
export function audienceOf(source: unknown): string | undefined {
  return textOf(objectOf(objectOf(source)["serviceAccountToken"])["audience"]) || undefined;
}

/** 3600 is the API server's default. */
function lifetimeOf({ expirationSeconds }: JsonObject): number {
  return numberOf(expirationSeconds) ?? 3600;
}

/** The complete list of sources, with these lifetimes of its API server tokens, otherwise unchanged. */
export function withSeconds({ sources }: Pick<Volume, "sources">, seconds: readonly number[]): readonly unknown[] {
  const rest = [...seconds];
  return sources.map(({ raw, token }) => {
    const wanted = token === undefined ? undefined : rest.shift();
    if (token === undefined || wanted === undefined || token["expirationSeconds"] === wanted) return raw;
    return { ...objectOf(raw), serviceAccountToken: { ...token, expirationSeconds: wanted } };
  });
}

/** Reports whether its files have the mode of the operator's volume. */
function hasDefaultMode(volume: JsonObject): boolean {
  return (objectOf(volume["projected"])["defaultMode"] ?? DEFAULT_MODE) === DEFAULT_MODE;
}

/** The token path. Admission compares mount paths as strings: a mount with a trailing slash or by way of `/run` does not count. */
export const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The lists in which admission mounts a token. A template has no ephemeral containers. */
export const CONTAINER_LISTS = ["initContainers", "containers"] as const;

/** A container, and its mount at the token path. */
export interface Container {
  readonly list: (typeof CONTAINER_LISTS)[number];
  readonly name: string;
  readonly raw: JsonObject;
  readonly mount: JsonObject | undefined;
  /** Nothing: admission mounts the default token. OurMount: the operator's volume. OwnMount: another volume. */
  readonly has: "Nothing" | "OurMount" | "OwnMount";
}

function containersOf(spec: JsonObject, tokenVolume: Volume | undefined): readonly Container[] {
  return CONTAINER_LISTS.flatMap(list =>
    namedOf(spec[list]).map(raw => {
      const mounts = arrayOf(raw["volumeMounts"]).map(objectOf);
      const mount = mounts.find(({ mountPath }) => mountPath === TOKEN_PATH);
      const has = mount === undefined ? "Nothing" : isOurMount(mount, tokenVolume) ? "OurMount" : "OwnMount";
      return { list, name: raw.name, raw, mount, has };
    }),
  );
}

/** Reports whether a mount is of the operator's volume. A mount of an equal foreign volume counts only if it is read-only. */
function isOurMount(mount: JsonObject, tokenVolume: Volume | undefined): boolean {
  if (tokenVolume === undefined || mount["name"] !== tokenVolume.name) return false;
  return tokenVolume.isOurs || mount["readOnly"] === true;
}

/** What matters of a template. */
export interface Reading {
  /** `spec` of the template, or an empty object. */
  readonly spec: JsonObject;
  /** All volumes that have a name, in order. */
  readonly volumes: readonly Volume[];
  /** The volume that containers without a token mount: the operator's, or one that is equal to it. */
  readonly tokenVolume: Volume | undefined;
  /** All containers and init containers that have a name, in order. */
  readonly containers: readonly Container[];
  /** Why admission mounts no token; undefined: it does. */
  readonly automountOffOn: "its pod template" | "its ServiceAccount" | undefined;
  /** Admission mounts the default token into containers without a mount at the token path. */
  readonly isInjected: boolean;
}

/** Reads a template. The pod template takes precedence over the ServiceAccount; the default is to mount a token. */
export function readTemplate(input: TemplateInput, previous: readonly PreviousSeconds[]): Reading {
  const spec = objectOf(objectOf(input.template)["spec"]);
  const volumes = namedOf(spec["volumes"]).map(raw => readVolume(raw, input, previous));
  const tokenVolume =
    volumes.find(({ isOurs }) => isOurs) ?? volumes.find(({ looksOwn, raw }) => looksOwn && hasDefaultMode(raw));
  const automount = spec["automountServiceAccountToken"];
  const isSet = typeof automount === "boolean";
  const isOn = isSet ? automount : (input.automount ?? true);
  return {
    ...{ spec, volumes, tokenVolume, containers: containersOf(spec, tokenVolume) },
    automountOffOn: isOn ? undefined : isSet ? "its pod template" : "its ServiceAccount",
    isInjected: isOn && !volumes.some(({ name }) => name.startsWith(ADMISSION_PREFIX)),
  };
}
