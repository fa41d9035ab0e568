import { type JsonObject, objectOf } from "../../../core/json";

/** The input of a template plan. */
export interface TemplateInput {
  /** `spec.template` of the DaemonSet, as the API server returns it. */
  readonly template: JsonObject;
  /** `automountServiceAccountToken` of the ServiceAccount; undefined: not set. */
  readonly automount: boolean | undefined;
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
export type LeftAloneReason =
  /** Admission injects no token, and the template has none. */
  | "AutomountOff"
  /** Every container mounts another volume at the token path. */
  | "OwnMount"
  /** The pods run on Windows. */
  | "WindowsNodes"
  /** Containers get the default token, and defaultToken is Leave. */
  | "DefaultTokenLeft";

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
