import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import { canonical } from "../../../core/json";
import type { Candidate } from "../../../core/cluster-wide";
import { PRESETS, type Preset } from "./data";

type Spec = ClusterControllerResilience["spec"];
type Template = Spec["template"];

/** A template for one workload. */
export interface PresetTemplate {
  /** Absent: no preset changes the template. */
  readonly preset?: string;
  readonly template: Template;
}

/** Applies the first preset that recognizes the workload. */
export function withPreset(
  { template, presets }: Spec,
  candidate: Pick<Candidate, "images" | "labels">,
): PresetTemplate {
  return changedBy(template, presetFor(candidate, presets.disabled));
}

/** Applies the preset of that name, unless it is disabled. */
export function withNamedPreset({ template, presets }: Spec, name: string | undefined): PresetTemplate {
  const isDisabled = name === undefined || presets.disabled.includes(name) || presets.disabled.includes("*");
  return changedBy(template, isDisabled ? undefined : PRESETS.find(preset => preset.name === name));
}

function changedBy(template: Template, preset: Preset | undefined): PresetTemplate {
  if (preset === undefined) return { template };
  const changed = apply(template, preset);
  return canonical(changed) === canonical(template) ? { template } : { preset: preset.name, template: changed };
}

/** Returns the preset of a workload, by its images or labels, never by its name. */
export function presetFor(
  candidate: Pick<Candidate, "images" | "labels">,
  disabled: readonly string[],
): Preset | undefined {
  if (disabled.includes("*")) return undefined;
  return PRESETS.find(preset => !disabled.includes(preset.name) && recognizes(preset, candidate));
}

function recognizes({ images, labels }: Preset, candidate: Pick<Candidate, "images" | "labels">): boolean {
  const repositories = candidate.images.map(repositoryOf);
  const hasImage = images.some(image => repositories.some(found => found === image || found.endsWith(`/${image}`)));
  return hasImage || labels.some(([key, value]) => candidate.labels[key] === value);
}

/** Returns a reference without its tag and digest: of `host:5000/team/app:v1@sha256:...` it is `host:5000/team/app`. */
function repositoryOf(image: string): string {
  const [reference = ""] = image.split("@");
  return reference.replace(/:[^/:]*$/, "");
}

/** Changes only blocks that the template has: a preset activates no remedy. */
function apply(template: Template, { changes }: Preset): Template {
  const { tokenRestart, flowIsolation } = template;
  return {
    ...template,
    ...(tokenRestart && changes.evidence && { tokenRestart: { ...tokenRestart, evidence: [...changes.evidence] } }),
    ...(flowIsolation &&
      changes.onRunaway && {
        flowIsolation: {
          ...flowIsolation,
          requestRate: { ...flowIsolation.requestRate, onRunaway: changes.onRunaway },
        },
      }),
  };
}
