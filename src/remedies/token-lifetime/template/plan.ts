import { hash } from "node:crypto";
import { type Check, firstMatch } from "../../../core/checks";
import { arrayOf, canonical, type JsonObject, objectIn, objectOf } from "../../../core/json";
import { EXTENDED_SECONDS } from "../../kit/pods";
import {
  type Container,
  CONTAINER_LISTS,
  type ContainerPatch,
  freeName,
  isAutomountOff,
  isInjected,
  type LeftAloneReason,
  mountPatch,
  namesAudience,
  ownVolume,
  podSpecOf,
  type PreviousSeconds,
  readContainers,
  readVolumes,
  templateAutomount,
  type TemplateInput,
  type TemplatePatch,
  type TemplatePlan,
  type TemplateSpec,
  TOKEN_PATH,
  tokenVolumeOf,
  type Volume,
  type VolumePatch,
  withoutOurMount,
  withSeconds,
} from "./parts";

/** A template that needs no change. */
interface Unchanged {
  readonly input: TemplateInput;
  readonly spec: TemplateSpec;
  readonly reading: Reading;
}

const CHECKS: readonly Check<Unchanged, TemplatePlan>[] = [
  windowsNodes,
  defaultTokenLeft,
  hasBoundedToken,
  automountOff,
  ownMount,
];

/**
 * Plans the patch after which no token for the API server lives longer than the spec allows. Pure and total.
 *
 * @param previous lifetimes that the operator's changes replaced, as recorded in status
 */
export function planTemplate(
  input: TemplateInput,
  spec: TemplateSpec,
  previous: readonly PreviousSeconds[] = [],
): TemplatePlan {
  const reading = readTemplate(input, previous);
  const wish = wishFor(input, spec, reading);
  const { isChange, ...change } = arrange(reading, wish);
  const restores = wish.bound === undefined || (wish.mounting.length === 0 && change.previous.length === 0);
  if (isChange) return { kind: "Change", ...change, restores };
  return firstMatch(CHECKS, { input, spec, reading }) ?? { kind: "Bounded" };
}

/** The patch with every field that the operator owns in a template that needs no change. */
export function planKeep(
  input: TemplateInput,
  spec: TemplateSpec,
  previous: readonly PreviousSeconds[],
): TemplatePatch {
  const reading = readTemplate(input, previous);
  return arrange(reading, wishFor(input, spec, reading)).patch;
}

/**
 * Plans the patch that restores the template: it releases the operator's volume and mounts, and shortened sources get their previous
 * lifetimes. The operator stays the owner of these sources, because a field without an owner is removed.
 */
export function planRelease(input: TemplateInput, previous: readonly PreviousSeconds[]): TemplatePatch {
  return arrange(readTemplate(input, previous), { bound: Infinity, mounting: [] }).patch;
}

/** How long tokens may live, and the containers that are to mount the operator's volume. Undefined: those that others have named live as long as now. */
interface Wish {
  readonly bound: number | undefined;
  readonly mounting: readonly Container[];
}

/**
 * A container that gets the default token, or would without the operator's volume, may keep it. No other token of such a pod is shortened: a
 * trial could not prove anything, since the default token outlives it.
 */
function wishFor(
  input: TemplateInput,
  { expirationSeconds: bound, defaultToken }: TemplateSpec,
  { volumes, containers, tokenVolume }: Reading,
): Wish {
  if (isWindows(input, volumes)) return { bound: Infinity, mounting: [] };
  if (!isInjected(input, volumes)) return { bound, mounting: [] };
  if (defaultToken === "Project") return { bound, mounting: containers.filter(({ has }) => has !== "OwnMount") };
  const isOurs = tokenVolume?.isOurs === true;
  const keepsDefault = containers.some(({ has }) => has === "Nothing" || (has === "OurMount" && isOurs));
  return { bound: keepsDefault ? undefined : bound, mounting: [] };
}

function hasBoundedToken({ reading }: Unchanged): TemplatePlan | undefined {
  return reading.volumes.some(({ now }) => now.length > 0) ? { kind: "Bounded" } : undefined;
}

/** The effect of shorter tokens on Windows nodes is not tested. */
function windowsNodes({ input, reading }: Unchanged): TemplatePlan | undefined {
  if (!isWindows(input, reading.volumes)) return undefined;
  return leftAlone("WindowsNodes", "its pods run on Windows nodes, where the operator changes no tokens");
}

function defaultTokenLeft({ input, reading: { volumes, containers } }: Unchanged): TemplatePlan | undefined {
  const bare = containers.filter(({ has }) => has === "Nothing");
  if (bare.length === 0 || !isInjected(input, volumes)) return undefined;
  return leftAlone("DefaultTokenLeft", `defaultToken is Leave for ${listOf(bare)}`);
}

function automountOff({ input }: Unchanged): TemplatePlan | undefined {
  if (!isAutomountOff(input)) return undefined;
  if (namesAudience(input))
    return leftAlone("AutomountOff", "the audience of its tokens is not known to be one of the API server");
  const where = templateAutomount(input) === undefined ? "its ServiceAccount" : "its pod template";
  return leftAlone("AutomountOff", `its pods get no token: automountServiceAccountToken is false on ${where}`);
}

function ownMount({ reading: { containers } }: Unchanged): TemplatePlan | undefined {
  if (containers.length === 0) return undefined;
  // All containers: one without a mount gets the volume that admission uses as its own.
  return leftAlone(
    "OwnMount",
    `no token that is known to be for the API server at ${TOKEN_PATH} in ${listOf(containers)}`,
  );
}

function leftAlone(reason: LeftAloneReason, cause: string): TemplatePlan {
  return { kind: "LeftAlone", reason, cause };
}

/** At most three containers by name. */
function listOf(containers: readonly Container[]): string {
  const names = containers.slice(0, 3).map(nameOf);
  const more = containers.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(" and ");
}

function nameOf({ list, name }: Container): string {
  return list === "containers" ? `container ${name}` : `init container ${name}`;
}

/** A sign other than `os` may name both systems. So it does not undo a change, which would replace all pods. */
function isWindows(input: TemplateInput, volumes: readonly Volume[]): boolean {
  const { os, nodeSelector, affinity, securityContext } = podSpecOf(input);
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

/** The relevant parts of a template. */
export interface Reading {
  readonly volumes: readonly Volume[];
  readonly tokenVolume: Volume | undefined;
  readonly containers: readonly Container[];
}

/** Every field that the operator should own, and whether the template differs. */
interface Arrangement {
  readonly patch: TemplatePatch;
  readonly previous: readonly PreviousSeconds[];
  readonly isChange: boolean;
}

/** Reads volumes and containers with their owners. */
export function readTemplate(input: TemplateInput, previous: readonly PreviousSeconds[]): Reading {
  const volumes = readVolumes(input, previous);
  const tokenVolume = tokenVolumeOf(volumes);
  return { volumes, tokenVolume, containers: readContainers(input, tokenVolume) };
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

interface Kept {
  readonly patch: VolumePatch;
  readonly previous: readonly PreviousSeconds[];
  readonly isChange: boolean;
}

function keptOf(volume: Volume, bound: number | undefined, isMounted: boolean): Kept[] {
  const { name, raw, now, before, audiences, isOurs, isOwned } = volume;
  if (isOurs) {
    const patch = ownVolume(name, boundedTo(bound));
    return isMounted ? [{ patch, previous: [], isChange: now[0] !== boundedTo(bound) }] : [];
  }
  const wanted = bound === undefined ? now : before.map(seconds => boundedTo(bound, seconds));
  const isChange = wanted.some((seconds, i) => seconds !== now[i]);
  if (!isOwned && !isChange) return [];
  const previous = before.map(expirationSeconds => ({ volume: name, expirationSeconds }));
  return [{ patch: { name, projected: { sources: withSeconds(raw, wanted, audiences) } }, previous, isChange }];
}

/** The life of a token with this bound; its own without one. */
function boundedTo(bound = Infinity, seconds = Infinity): number {
  const wanted = Math.min(seconds, bound);
  return wanted === EXTENDED_SECONDS && bound !== Infinity ? EXTENDED_SECONDS - 1 : wanted;
}

function patchOf(volumes: readonly VolumePatch[], mounting: readonly Container[], volume: string): TemplatePatch {
  const of = (list: Container["list"]): ContainerPatch[] =>
    mounting.filter(container => container.list === list).map(container => mountPatch(container, volume));
  const patch = { volumes, initContainers: of("initContainers"), containers: of("containers") };
  return Object.fromEntries(Object.entries(patch).filter(([, items]) => items.length > 0));
}

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
