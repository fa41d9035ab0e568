import { type JsonObject, objectOf } from "../../../core/json";

/** What a plan rests on. */
export interface TemplateInput {
  /** `spec.template` of the DaemonSet, as the API server returns it. */
  readonly template: JsonObject;
  /** `automountServiceAccountToken` of the ServiceAccount; undefined: not set. */
  readonly automount: boolean | undefined;
  /** Volumes of whose `projected.sources` the operator's field manager is an owner. */
  readonly ownedVolumes: readonly string[];
}

/** `spec` of the template; an empty one if there is none. */
export function podSpecOf({ template }: TemplateInput): JsonObject {
  return objectOf(objectOf(template)["spec"]);
}

/** What is asked for. */
export interface TemplateSpec {
  readonly expirationSeconds: number;
  readonly defaultToken: "Project" | "Leave";
}

/**
 * What stood in a volume before. A volume with several tokens for the API server has as many entries, in the order of its sources: keep
 * the list as it is.
 */
export interface PreviousSeconds {
  readonly volume: string;
  readonly expirationSeconds: number;
}

/** Why a template is left as it is, although it is not known that all of its tokens are bounded. */
export type LeftAloneReason =
  /** Nobody injects a token, and the template has none. */
  | "AutomountOff"
  /** Every container has something of its own in the token's place. */
  | "OwnMount"
  /** The pods run on Windows. */
  | "WindowsNodes"
  /** Containers get the default token, and the spec wants it left. */
  | "DefaultTokenLeft";

/** What is to be done with a template. */
export type TemplatePlan =
  /** Nothing: the template's tokens live short enough, and no other would be injected. */
  | { readonly kind: "Bounded" }
  | { readonly kind: "LeftAlone"; readonly reason: LeftAloneReason; readonly cause: string }
  | {
      readonly kind: "Change";
      readonly patch: TemplatePatch;
      /** Of every volume of somebody else in the patch; it takes the place of the list that was known before. */
      readonly previous: readonly PreviousSeconds[];
      /** The patch has the operator's own volume and its mounts. */
      readonly projects: boolean;
    };

/**
 * Body of a server-side apply under `spec.template.spec`. Always everything that the operator is to own: what is left out and owned, the API
 * server removes. An empty one releases all.
 */
export interface TemplatePatch {
  readonly volumes?: readonly VolumePatch[];
  readonly containers?: readonly ContainerPatch[];
  readonly initContainers?: readonly ContainerPatch[];
}

/** A volume; `sources` is an atomic list, so it is always whole. */
export interface VolumePatch {
  readonly name: string;
  readonly projected: { readonly defaultMode?: number; readonly sources: readonly unknown[] };
}

/** The mount of a container. */
export interface ContainerPatch {
  readonly name: string;
  readonly volumeMounts: readonly {
    readonly mountPath: string;
    readonly name: string;
    readonly readOnly: true;
  }[];
}
