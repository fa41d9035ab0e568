import { hash } from "node:crypto";
import { arrayOf, canonical, type JsonObject, objectIn, objectOf } from "../../../core/json";
import { type Check, firstMatch } from "../../../core/checks";
import {
  namesAudience,
  type Container,
  CONTAINER_LISTS,
  type ContainerPatch,
  freeName,
  isAutomountOff,
  isInjected,
  type LeftAloneReason,
  mountPatch,
  ownVolume,
  podSpecOf,
  readContainers,
  readVolumes,
  templateAutomount,
  type TemplateInput,
  type TemplatePatch,
  type TemplatePlan,
  type TemplateSpec,
  TOKEN_PATH,
  type Volume,
  withoutOurMount,
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
  ownToken,
  hasBoundedToken,
  automountOff,
  ownMount,
];

/** Plans the patch after which no default token lives longer than the spec allows. Pure and total. */
export function planTemplate(input: TemplateInput, spec: TemplateSpec): TemplatePlan {
  const reading = readTemplate(input);
  const mounting = isWindows(input) ? [] : mountingOf(input, spec, reading);
  const { isChange, patch } = arrange(reading, spec.expirationSeconds, mounting);
  const projects = mounting.length > 0;
  // Next to a longer token a shorter one bounds nothing.
  const isUseful = !projects || longerThan(spec, reading) === undefined;
  if (isChange && isUseful) return { kind: "Change", patch, projects };
  return firstMatch(CHECKS, { input, spec, reading }) ?? { kind: "Bounded" };
}

/** The patch with every field that the operator owns in a template that needs no change. */
export function planKeep(input: TemplateInput, spec: TemplateSpec): TemplatePatch {
  const reading = readTemplate(input);
  return arrange(reading, spec.expirationSeconds, mountingOf(input, spec, reading)).patch;
}

/** A volume of another owner with a token for the API server that lives longer than the spec allows. */
function longerThan({ expirationSeconds }: TemplateSpec, { volumes }: Reading): Volume | undefined {
  return volumes.find(({ isOurs, seconds }) => !isOurs && Math.max(...seconds) > expirationSeconds);
}

function mountingOf(input: TemplateInput, spec: TemplateSpec, { volumes, containers }: Reading): readonly Container[] {
  if (spec.defaultToken === "Leave" || !isInjected(input, volumes)) return [];
  return containers.filter(({ has }) => has !== "OwnMount");
}

function hasBoundedToken({ reading }: Unchanged): TemplatePlan | undefined {
  return reading.volumes.some(({ seconds }) => seconds.length > 0) ? { kind: "Bounded" } : undefined;
}

function ownToken({ spec, reading }: Unchanged): TemplatePlan | undefined {
  const volume = longerThan(spec, reading);
  if (volume === undefined) return undefined;
  const wanted = `set expirationSeconds there to ${spec.expirationSeconds} or less`;
  return leftAlone(
    "OwnToken",
    `its volume ${volume.name} has a token that lives ${Math.max(...volume.seconds)}s; ${wanted}`,
  );
}

/** The effect of shorter tokens on Windows nodes is not tested. */
function windowsNodes({ input }: Unchanged): TemplatePlan | undefined {
  if (!isWindows(input)) return undefined;
  return leftAlone("WindowsNodes", "its pods run on Windows nodes, where the operator changes no tokens");
}

function defaultTokenLeft({ input, spec, reading: { volumes, containers } }: Unchanged): TemplatePlan | undefined {
  const bare = containers.filter(({ has }) => has === "Nothing");
  if (spec.defaultToken !== "Leave" || bare.length === 0 || !isInjected(input, volumes)) return undefined;
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

function isWindows(input: TemplateInput): boolean {
  const spec = podSpecOf(input);
  return objectOf(spec["os"])["name"] === "windows" || objectOf(spec["nodeSelector"])["kubernetes.io/os"] === "windows";
}

/** The relevant parts of a template. */
interface Reading {
  readonly volumes: readonly Volume[];
  /** The operator's volume. */
  readonly ours: Volume | undefined;
  readonly containers: readonly Container[];
}

function readTemplate(input: TemplateInput): Reading {
  const volumes = readVolumes(input);
  const ours = volumes.find(({ isOurs }) => isOurs);
  return { volumes, ours, containers: readContainers(input, ours) };
}

/**
 * Every field that the operator should own if the containers in `mounting` mount its volume, and whether the template differs. Items keep the
 * template's order, because server-side apply would reorder the template otherwise.
 */
function arrange(
  { volumes, ours }: Reading,
  bound: number,
  mounting: readonly Container[],
): { readonly patch: TemplatePatch; readonly isChange: boolean } {
  if (mounting.length === 0) return { patch: {}, isChange: ours !== undefined };
  const name = ours?.name ?? freeName(new Set(volumes.map(volume => volume.name)));
  const isBare = mounting.some(({ has }) => has === "Nothing");
  return { patch: patchOf(mounting, name, bound), isChange: isBare || ours?.seconds[0] !== bound };
}

function patchOf(mounting: readonly Container[], volume: string, bound: number): TemplatePatch {
  const of = (list: Container["list"]): ContainerPatch[] =>
    mounting.filter(container => container.list === list).map(container => mountPatch(container, volume));
  const lists = CONTAINER_LISTS.map(list => [list, of(list)] as const).filter(([, items]) => items.length > 0);
  return { volumes: [ownVolume(volume, bound)], ...Object.fromEntries(lists) };
}

/** Digits of the hash; enough to distinguish the templates of one DaemonSet. */
const LENGTH = 16;

/**
 * Hashes a template without the operator's fields: the same before and after a change and its release. The order of keys does not
 * matter.
 */
export function fingerprint(input: TemplateInput): string {
  const template = objectOf(input.template);
  const metadata = withoutRestarts(template["metadata"]);
  const original = { ...template, metadata, spec: originalSpec(podSpecOf(input), readTemplate(input)) };
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

/** A missing list is equal to an empty one. */
function originalSpec(spec: JsonObject, { ours }: Reading): JsonObject {
  const volumes = arrayOf(spec["volumes"]).filter(volume => volume !== ours?.raw);
  const lists = CONTAINER_LISTS.map(list => [list, originalContainers(spec[list], ours)] as const);
  return { ...spec, volumes, ...Object.fromEntries(lists) };
}

function originalContainers(list: unknown, ours: Volume | undefined): unknown[] {
  return arrayOf(list).map(item => {
    const container = objectIn(item);
    return container === undefined ? item : withoutOurMount(container, ours);
  });
}
