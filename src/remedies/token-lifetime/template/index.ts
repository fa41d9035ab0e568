export { fingerprint } from "./fingerprint";
export type { JsonObject } from "../../../core/json";
export type {
  ContainerPatch,
  LeftAloneReason,
  PreviousSeconds,
  TemplateInput,
  TemplatePatch,
  TemplatePlan,
  TemplateSpec,
  VolumePatch,
} from "./model";
export { VOLUME_NAME } from "./own-volume";
export { containersWithOwnMount, planKeep, planRelease, planTemplate } from "./plan";
export { DEFAULT_SECONDS } from "./sources";
