import type { Intent, ObjectRef } from "../../core/intent";
import type { DaemonSetView } from "../../core/views";
import { templateInputOf, type ObservedDaemonSet } from "./observed";
import { planRelease, type TemplatePatch } from "./template";

/** Event reason of a change that shortens tokens. */
export const SHORTENED = "TokenLifetimeShortened";

/** Event reason of a reverted change. */
export const RESTORED = "TokenLifetimeRestored";

/** Server-side apply: the operator owns every field of the patch, and gives up the fields that it owned before and the patch omits. */
export function buildChange(view: DaemonSetView, patch: TemplatePatch, why: string, strategy: object = {}): Intent {
  return { verb: "apply", target: refOf(view), body: bodyOf(patch, strategy), why, eventReason: SHORTENED };
}

/** As {@link buildChange}, for the first write of a rollout: the operator rolls out one template at a time. */
export function buildRollout(view: DaemonSetView, patch: TemplatePatch, why: string, strategy: object): Intent {
  return { ...buildChange(view, patch, why, strategy), rollout: { workload: `DaemonSet/${view.name}` } };
}

/** Restores the template. */
export function buildRelease(daemonSet: Pick<ObservedDaemonSet, "view" | "automount" | "record">, why: string): Intent {
  const patch = planRelease(templateInputOf(daemonSet), daemonSet.record?.previous ?? []);
  return { verb: "apply", target: refOf(daemonSet.view), body: bodyOf(patch), why, eventReason: RESTORED };
}

function bodyOf(patch: TemplatePatch, strategy: object = {}): object {
  return { spec: { ...strategy, template: { spec: patch } } };
}

function refOf({ namespace, name, uid, resourceVersion }: DaemonSetView): ObjectRef {
  return { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name, uid, resourceVersion };
}
