import { Cause } from "../../api/conditions";
import type { Intent, ObjectRef, RestartLimits } from "../../core/intent";
import type { DaemonSetView, PodView } from "../../core/views";
import { templateInputOf, type ObservedDaemonSet } from "./observed";
import { planRelease, type TemplatePatch } from "./template";

/** Event reason of a change that shortens tokens. */
export const SHORTENED = "TokenLifetimeShortened";

/** Event reason of a reverted change. */
export const RESTORED = "TokenLifetimeRestored";

/** Event reason of an eviction, the same for every remedy. */
const EVICTED = "PodEvicted";

/** The defaults of token restarts. */
const LIMITS: RestartLimits = { cooldownMs: 600_000, maxRestarts: 3 };

/** Server-side apply: the operator owns every field of the patch, and gives up the fields that it owned before and the patch omits. */
export function buildChange(view: DaemonSetView, patch: TemplatePatch, why: string, strategy: object = {}): Intent {
  return { verb: "apply", target: refOf(view), body: bodyOf(patch, strategy), why, eventReason: SHORTENED };
}

/** As {@link buildChange}, for the first write of a rollout: the operator rolls out one template at a time. */
export function buildRollout(view: DaemonSetView, patch: TemplatePatch, why: string, strategy: object): Intent {
  return { ...buildChange(view, patch, why, strategy), rollout: { workload: workloadOf(view) } };
}

/** Restores the template. */
export function buildRelease(daemonSet: Pick<ObservedDaemonSet, "view" | "automount" | "record">, why: string): Intent {
  const patch = planRelease(templateInputOf(daemonSet), daemonSet.record?.previous ?? []);
  return { verb: "apply", target: refOf(daemonSet.view), body: bodyOf(patch), why, eventReason: RESTORED };
}

/** Evicts the pod that is to get the first shorter token; the Eviction API respects PodDisruptionBudgets. */
export function buildEviction({ namespace, name, uid }: PodView, daemonSet: DaemonSetView, why: string): Intent {
  const restart = {
    workload: workloadOf(daemonSet),
    pod: name,
    podUID: uid,
    cause: Cause.TokenTooLong,
    limits: LIMITS,
  };
  return {
    verb: "evict",
    target: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
    why,
    eventReason: EVICTED,
    restart,
  };
}

/** The workload's name in status.restarts. */
export function workloadOf({ name }: Pick<DaemonSetView, "name">): string {
  return `DaemonSet/${name}`;
}

function bodyOf(patch: TemplatePatch, strategy: object = {}): object {
  return { spec: { ...strategy, template: { spec: patch } } };
}

function refOf({ namespace, name, uid, resourceVersion }: DaemonSetView): ObjectRef {
  return { apiVersion: "apps/v1", kind: "DaemonSet", namespace, name, uid, resourceVersion };
}
