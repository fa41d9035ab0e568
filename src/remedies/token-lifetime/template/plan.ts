import { hash } from "node:crypto";
import { arrayOf, canonical, type JsonObject, objectOf } from "../../../core/json";
import { EXTENDED_SECONDS } from "../../kit/pods";
import {
  audienceOf,
  type Container,
  CONTAINER_LISTS,
  type ContainerPatch,
  type LeftAloneReason,
  ownVolume,
  type PreviousSeconds,
  type Reading,
  readTemplate,
  type TemplateInput,
  type TemplatePatch,
  type TemplatePlan,
  type TemplateSpec,
  TOKEN_PATH,
  type Volume,
  VOLUME_NAME,
  type VolumePatch,
  withSeconds,
} from "./parts";

/**
 * Plans the patch after which no token for the API server lives longer than the spec allows. Pure and total.
 *
 * @param recorded lifetimes that the operator's changes replaced, as recorded in status
 */
export function planTemplate(
  input: TemplateInput,
  spec: TemplateSpec,
  recorded: readonly PreviousSeconds[] = [],
): TemplatePlan {
  const reading = readTemplate(input, recorded);
  const wish = wishFor(reading, spec);
  const { isChange, patch, previous } = arrange(reading, wish);
  const plan = { patch, previous, fingerprint: fingerprintOf(objectOf(input.template), reading) };
  if (!isChange) return { ...plan, ...(leftAlone(reading) ?? { kind: "Bounded" }) };
  const restores = wish.bound === undefined || (wish.mounting.length === 0 && previous.length === 0);
  return { ...plan, kind: restores ? "Restore" : "Change" };
}

/** The template must change. */
export function isDue({ kind }: TemplatePlan): boolean {
  return kind === "Change" || kind === "Restore";
}

/**
 * Plans the patch that restores the template: it releases the operator's volume and mounts, and shortened sources get their previous
 * lifetimes. The operator stays the owner of these sources, because a field without an owner is removed.
 */
export function planRelease(input: TemplateInput, recorded: readonly PreviousSeconds[] = []): TemplatePatch {
  return arrange(readTemplate(input, recorded), RELEASE).patch;
}

/** How long tokens may live, and the containers that are to mount the operator's volume. Undefined: those that others have named live as long as now. */
interface Wish {
  readonly bound: number | undefined;
  readonly mounting: readonly Container[];
}

const RELEASE: Wish = { bound: Infinity, mounting: [] };

/**
 * A container that gets the default token, or would without the operator's volume, may keep it. No other token of such a pod is shortened: a
 * trial could not prove anything, since the default token outlives it.
 */
function wishFor(reading: Reading, { expirationSeconds: bound, defaultToken }: TemplateSpec): Wish {
  const { containers, tokenVolume, isInjected } = reading;
  if (isWindows(reading)) return RELEASE;
  if (!isInjected) return { bound, mounting: [] };
  if (defaultToken === "Project") return { bound, mounting: containers.filter(({ has }) => has !== "OwnMount") };
  const isOurs = tokenVolume?.isOurs === true;
  const keepsDefault = containers.some(({ has }) => has === "Nothing" || (has === "OurMount" && isOurs));
  return { bound: keepsDefault ? undefined : bound, mounting: [] };
}

/** Why a template that needs no change is not bounded. The effect of shorter tokens on Windows nodes is not tested. */
function leftAlone(reading: Reading): { kind: "LeftAlone"; reason: LeftAloneReason; cause: string } | undefined {
  const { spec, volumes, containers, automountOffOn, isInjected } = reading;
  const left = (reason: LeftAloneReason, cause: string) => ({ kind: "LeftAlone", reason, cause }) as const;
  if (isWindows(reading))
    return left("WindowsNodes", "its pods run on Windows nodes, where the operator changes no tokens");
  const bare = containers.filter(({ has }) => has === "Nothing");
  if (isInjected && bare.length > 0) return left("DefaultTokenLeft", `defaultToken is Leave for ${listOf(bare)}`);
  if (volumes.some(({ now }) => now.length > 0)) return undefined;
  if (automountOffOn !== undefined) {
    const named = arrayOf(spec["volumes"]).some(namesAudience);
    const cause = named
      ? "the audience of its tokens is not known to be one of the API server"
      : `its pods get no token: automountServiceAccountToken is false on ${automountOffOn}`;
    return left("AutomountOff", cause);
  }
  if (containers.length === 0) return undefined;
  // All containers: one without a mount gets the volume that admission uses as its own.
  const cause = `no token that is known to be for the API server at ${TOKEN_PATH} in ${listOf(containers)}`;
  return left("OwnMount", cause);
}

function namesAudience(volume: unknown): boolean {
  return arrayOf(objectOf(objectOf(volume)["projected"])["sources"]).some(one => audienceOf(one) !== undefined);
}

/** At most three containers by name. */
function listOf(containers: readonly Container[]): string {
  const names = containers
    .slice(0, 3)
    .map(({ list, name }) => `${list === "containers" ? "container" : "init container"} ${name}`);
  const more = containers.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(" and ");
}

/** A sign other than `os` may name both systems. So it does not undo a change, which would replace all pods. */
function isWindows({ spec, volumes }: Reading): boolean {
  const { os, nodeSelector, affinity, securityContext } = spec;
  const { name } = objectOf(os);
  const isChanged = volumes.some(({ isOurs, now, before }) => isOurs || now.join() !== before.join());
  if (name !== undefined || isChanged) return name === "windows";
  const required = objectOf(objectOf(affinity)["nodeAffinity"])["requiredDuringSchedulingIgnoredDuringExecution"];
  const expressions = arrayOf(objectOf(required)["nodeSelectorTerms"])
    .flatMap(one => arrayOf(objectOf(one)["matchExpressions"]))
    .map(objectOf)
    .filter(({ operator }) => operator !== "NotIn" && operator !== "DoesNotExist");
  const selected = Object.entries(objectOf(nodeSelector)).map(([key, value]) => ({ key, values: [value] }));
  const { windowsOptions } = objectOf(securityContext);
  return [...selected, ...expressions].some(namesWindows) || Object.keys(objectOf(windowsOptions)).length > 0;
}

/** Nodes have several labels that say it, also older ones. */
function namesWindows({ key, values }: JsonObject): boolean {
  return (
    key === "node.kubernetes.io/windows-build" || (/\/os$/.test(String(key)) && arrayOf(values).includes("windows"))
  );
}

/** Every field that the operator should own, and whether the template differs. */
interface Arrangement {
  readonly patch: TemplatePatch;
  readonly previous: readonly PreviousSeconds[];
  readonly isChange: boolean;
}

/** Computes the operator's fields. Items keep the template's order, because server-side apply would reorder the template otherwise. */
function arrange({ volumes, tokenVolume }: Reading, { bound, mounting }: Wish): Arrangement {
  const projects = mounting.length > 0;
  const kept = volumes.flatMap(volume => keptOf(volume, bound, projects && volume === tokenVolume));
  const name = tokenVolume?.name ?? freeName(new Set(volumes.map(volume => volume.name)));
  const fresh = projects && tokenVolume === undefined ? [ownVolume(name, boundedTo(bound))] : [];
  const mounts = mounting.some(({ has }) => has === "Nothing");
  const leaves = volumes.some(volume => volume.isOurs && !(projects && volume === tokenVolume));
  return {
    patch: patchOf([...kept.map(({ patch }) => patch), ...fresh], mounting, name),
    previous: kept.flatMap(({ previous }) => previous),
    isChange: mounts || leaves || kept.some(({ isChange }) => isChange),
  };
}

/** Returns a name for the operator's volume that is not taken. */
function freeName(taken: ReadonlySet<string>): string {
  let name = VOLUME_NAME;
  for (let suffix = 2; taken.has(name); suffix++) name = `${VOLUME_NAME}-${suffix}`;
  return name;
}

interface Kept extends Pick<Arrangement, "previous" | "isChange"> {
  readonly patch: VolumePatch;
}

function keptOf(volume: Volume, bound: number | undefined, isMounted: boolean): Kept[] {
  const { name, now, before, isOurs, isOwned } = volume;
  if (isOurs) {
    const patch = ownVolume(name, boundedTo(bound));
    return isMounted ? [{ patch, previous: [], isChange: now[0] !== boundedTo(bound) }] : [];
  }
  const wanted = bound === undefined ? now : before.map(seconds => boundedTo(bound, seconds));
  const isChange = wanted.some((seconds, i) => seconds !== now[i]);
  if (!isOwned && !isChange) return [];
  const previous = before.map(expirationSeconds => ({ volume: name, expirationSeconds }));
  return [{ patch: { name, projected: { sources: withSeconds(volume, wanted) } }, previous, isChange }];
}

/** The life of a token with this bound; its own without one. */
function boundedTo(bound = Infinity, seconds = Infinity): number {
  const wanted = Math.min(seconds, bound);
  return wanted === EXTENDED_SECONDS && bound !== Infinity ? EXTENDED_SECONDS - 1 : wanted;
}

/** With the mounts that admission would add, from this volume. */
function patchOf(volumes: readonly VolumePatch[], mounting: readonly Container[], volume: string): TemplatePatch {
  const of = (wanted: Container["list"]): ContainerPatch[] =>
    mounting
      .filter(({ list }) => list === wanted)
      .map(({ name }) => ({ name, volumeMounts: [{ mountPath: TOKEN_PATH, name: volume, readOnly: true }] }));
  const patch = { volumes, initContainers: of("initContainers"), containers: of("containers") };
  return Object.fromEntries(Object.entries(patch).filter(([, items]) => items.length > 0));
}

/** Digits of the hash; enough to distinguish the templates of one DaemonSet. */
const LENGTH = 16;

/** Hashes a template without the operator's fields. The order of keys does not matter, and a missing list is equal to an empty one. */
function fingerprintOf(template: JsonObject, reading: Reading): string {
  const { spec } = reading;
  const volumes = arrayOf(spec["volumes"]).flatMap(raw => originalVolume(raw, reading));
  const lists = CONTAINER_LISTS.map(list => [
    list,
    arrayOf(spec[list]).map(raw => originalContainer(raw, reading)),
  ]) as readonly (readonly [string, unknown])[];
  const original = { ...spec, volumes, ...Object.fromEntries(lists) };
  const metadata = withoutRestarts(template["metadata"]);
  return hash("sha256", canonical({ ...template, metadata, spec: original }), "hex").slice(0, LENGTH);
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

function originalVolume(raw: unknown, { volumes }: Reading): unknown[] {
  const volume = volumes.find(one => one.raw === raw);
  if (volume === undefined || volume.before.length === 0) return [raw];
  const projected = { ...objectOf(volume.raw["projected"]), sources: withSeconds(volume, volume.before) };
  return volume.isOurs ? [] : [{ ...volume.raw, projected }];
}

/** Without the operator's mount. */
function originalContainer(raw: unknown, { containers }: Reading): unknown {
  const container = containers.find(one => one.raw === raw);
  if (container?.has !== "OurMount") return raw;
  const { volumeMounts, ...rest } = container.raw;
  const others = arrayOf(volumeMounts).filter(one => one !== container.mount);
  return others.length === 0 ? rest : { ...rest, volumeMounts: others };
}
