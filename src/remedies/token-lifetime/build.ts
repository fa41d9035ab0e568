import type { Intent, ObjectRef } from "../../core/intent";
import type { DaemonSetView } from "../../core/views";
import { inputOf, type DaemonSetFacts } from "./facts";
import { planRelease, type TemplatePatch } from "./template";

/** Reason of the Event of a change, by which its outcome is told. */
export const SHORTENED = "TokenLifetimeShortened";

/** Reason of the Event of a change that is taken back. */
export const RESTORED = "TokenLifetimeRestored";

/** By server-side apply: whatever of the template is in it is the operator's from then on, and what is left out is given back. */
export function buildChange(view: DaemonSetView, patch: TemplatePatch, why: string): Intent {
  return { verb: "apply", target: refOf(view), body: bodyOf(patch), why, eventReason: SHORTENED };
}

/** Puts the template back as it was. */
export function buildRelease(own: DaemonSetFacts, why: string): Intent {
  const patch = planRelease(inputOf(own), own.record?.previous ?? []);
  return { verb: "apply", target: refOf(own.view), body: bodyOf(patch), why, eventReason: RESTORED };
}

function bodyOf(patch: TemplatePatch): object {
  return { spec: { template: { spec: patch } } };
}

function refOf({ namespace, name, uid, resourceVersion }: DaemonSetView): ObjectRef {
  return { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name, uid, resourceVersion };
}
