import { Cause } from "../../../api/conditions";
import { DAEMON_SET_ANNOTATION } from "../../../api/names";
import type { Intent, RestartLimits } from "../../../core/intent";
import { ownerAnnotations, ownerLabels } from "../../../core/owned";
import type { ClusterObjectView, DaemonSetView, PodView } from "../../../core/views";
import { RESTORED, SHORTENED } from "../build";
import type { TokenLifetimeFacts } from "../facts";
import type { Half, Pair } from "./pair";
import { ADMISSION_API } from "./policy";

/** Reason of the Event of a pod that is replaced, the same for every remedy. */
const EVICTED = "PodEvicted";

/**
 * Replacements that were seen to help are one incident (docs/adr/0016). Those that were not wait for each other as token restarts do by
 * default.
 */
const LIMITS: RestartLimits = { cooldownMs: 600_000, maxRestarts: 3, maxRestartsWindowMs: 3_600_000 };

/** A pod that was left without access does not wait because its own replacement has not helped. */
const HEALING_LIMITS: RestartLimits = { ...LIMITS, cooldownMs: 0 };

/** Creates what is not there, so that nothing of somebody else's is ever taken over; puts right what somebody has changed. */
export function buildPair(
  { name, halves }: Pair,
  daemonSet: string,
  owner: TokenLifetimeFacts["owner"],
  why: string,
): Intent[] {
  const annotations = { ...ownerAnnotations(owner), [DAEMON_SET_ANNOTATION]: daemonSet };
  const metadata = { labels: ownerLabels(owner), annotations };
  return halves
    .filter(({ state }) => state === "Missing" || state === "Drifted")
    .map(({ kind, spec, view }: Half): Intent => {
      const known = view === undefined ? {} : { uid: view.uid, resourceVersion: view.resourceVersion };
      return {
        verb: view === undefined ? "create" : "apply",
        target: { apiVersion: ADMISSION_API, kind, name, ...known },
        body: { metadata, spec },
        why,
        eventReason: SHORTENED,
      };
    });
}

/** The bindings first: without one, a policy does nothing. */
export function buildRemoval(views: readonly ClusterObjectView[], why: string): Intent[] {
  const isBinding = ({ kind }: ClusterObjectView): boolean => kind === "MutatingAdmissionPolicyBinding";
  const ordered = [...views.filter(isBinding), ...views.filter(view => !isBinding(view))];
  return ordered.map(({ apiVersion, kind, name, uid, resourceVersion }) => ({
    verb: "delete",
    target: { apiVersion, kind, name, uid, resourceVersion },
    why,
    eventReason: RESTORED,
  }));
}

/** Replaces a pod with a longer token by the Eviction API, so that PodDisruptionBudgets are asked. */
export function buildEviction(pod: PodView, daemonSet: DaemonSetView, why: string): Intent {
  return eviction(pod, daemonSet, why, LIMITS);
}

/** The same of a pod that is answered 401 with its shorter token. */
export function buildHealing(pod: PodView, daemonSet: DaemonSetView, why: string): Intent {
  return eviction(pod, daemonSet, why, HEALING_LIMITS);
}

function eviction(
  { namespace, name, uid }: PodView,
  daemonSet: DaemonSetView,
  why: string,
  limits: RestartLimits,
): Intent {
  return {
    verb: "evict",
    target: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
    why,
    eventReason: EVICTED,
    restart: { workload: workloadOf(daemonSet), pod: name, podUID: uid, cause: Cause.TokenTooLong, limits },
  };
}

/** As restarts name it. */
export function workloadOf({ name }: Pick<DaemonSetView, "name">): string {
  return `DaemonSet/${name}`;
}
