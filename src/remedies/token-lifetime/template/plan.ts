import { arrange, type Reading, readTemplate } from "./arrange";
import { type Container, isAutomountOff, isInjected, templateAutomount, TOKEN_PATH } from "./containers";
import { objectOf } from "../../../core/json";
import {
  type LeftAloneReason,
  podSpecOf,
  type PreviousSeconds,
  type TemplateInput,
  type TemplatePatch,
  type TemplatePlan,
  type TemplateSpec,
} from "./model";

/** What is said of a template for which nothing is to be done. */
interface Case {
  readonly input: TemplateInput;
  readonly spec: TemplateSpec;
  readonly reading: Reading;
}

/** The first that has something to say decides. */
const CHECKS: readonly ((given: Case) => TemplatePlan | undefined)[] = [
  // Nobody has looked at what a shorter token does there.
  windowsNodes,
  // A token that is known to live longer.
  defaultTokenLeft,
  // There are tokens, and they are short enough.
  given => (given.reading.volumes.some(({ now }) => now.length > 0) ? { kind: "Bounded" } : undefined),
  // There are none, and nobody will add one.
  automountOff,
  // Whatever token there is, it does not come from the kubelet.
  ownMount,
];

/**
 * What has to be applied so that no token for the API server lives longer than asked for. Pure and total.
 *
 * @param previous what is known to have stood in the volumes that the operator owns by now
 */
export function planTemplate(
  input: TemplateInput,
  spec: TemplateSpec,
  previous: readonly PreviousSeconds[] = [],
): TemplatePlan {
  const reading = readTemplate(input, previous);
  const { isChange, ...change } = isWindows(input)
    ? arrange(reading, Infinity, [])
    : arrange(reading, spec.expirationSeconds, mountingOf(input, spec, reading));
  if (isChange) return { kind: "Change", ...change };
  for (const check of CHECKS) {
    const plan = check({ input, spec, reading });
    if (plan !== undefined) return plan;
  }
  return { kind: "Bounded" };
}

/**
 * What to apply so that everything is as it was: the operator's volume and mounts are released, and shortened sources get their previous
 * seconds. These sources stay the operator's own: who owns a field alone and leaves it out removes it.
 */
export function planRelease(input: TemplateInput, previous: readonly PreviousSeconds[]): TemplatePatch {
  return arrange(readTemplate(input, previous), Infinity, []).patch;
}

/** Containers, as sentences name them, that have something of their own in the token's place: what it holds nobody can tell. */
export function containersWithOwnMount(input: TemplateInput, previous: readonly PreviousSeconds[] = []): string[] {
  const { containers } = readTemplate(input, previous);
  return containers.filter(({ has }) => has === "OwnMount").map(nameOf);
}

function mountingOf(input: TemplateInput, spec: TemplateSpec, { volumes, containers }: Reading): readonly Container[] {
  if (spec.defaultToken === "Leave" || !isInjected(input, volumes)) return [];
  return containers.filter(({ has }) => has !== "OwnMount");
}

function windowsNodes({ input }: Case): TemplatePlan | undefined {
  if (!isWindows(input)) return undefined;
  return leftAlone("WindowsNodes", "Its pods run on Windows nodes, where tokens are left as they are.");
}

function defaultTokenLeft({ input, reading: { volumes, containers } }: Case): TemplatePlan | undefined {
  const bare = containers.filter(({ has }) => has === "Nothing");
  if (bare.length === 0 || !isInjected(input, volumes)) return undefined;
  const sentence = `${listOf(bare)} of its pods will get the default token, because defaultToken is Leave.`;
  return leftAlone("DefaultTokenLeft", sentence);
}

function automountOff({ input }: Case): TemplatePlan | undefined {
  if (!isAutomountOff(input)) return undefined;
  const where = templateAutomount(input) === undefined ? "its ServiceAccount" : "its pod template";
  const sentence = `Its pods get no token, because automountServiceAccountToken is false on ${where}.`;
  return leftAlone("AutomountOff", sentence);
}

function ownMount({ reading: { containers } }: Case): TemplatePlan | undefined {
  if (containers.length === 0) return undefined;
  // All of them: one that has nothing there gets a volume of the template that admission takes for its own.
  return leftAlone(
    "OwnMount",
    `${listOf(containers)} of its pods will have something else than a projected token at ${TOKEN_PATH}.`,
  );
}

function leftAlone(reason: LeftAloneReason, sentence: string): TemplatePlan {
  return { kind: "LeftAlone", reason, sentence };
}

/** As many as can be read in one sentence. */
function listOf(containers: readonly Container[]): string {
  const names = containers.slice(0, 3).map(nameOf);
  const more = containers.length - names.length;
  const text = [...names, ...(more > 0 ? [`${more} more`] : [])].join(" and ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function nameOf({ list, name }: Container): string {
  return list === "containers" ? `container ${name}` : `init container ${name}`;
}

function isWindows(input: TemplateInput): boolean {
  const spec = podSpecOf(input);
  return objectOf(spec["os"])["name"] === "windows" || objectOf(spec["nodeSelector"])["kubernetes.io/os"] === "windows";
}
