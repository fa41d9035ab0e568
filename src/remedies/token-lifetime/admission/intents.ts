import { Cause } from "../../../api/conditions";
import { DAEMON_SET_ANNOTATION } from "../../../api/names";
import { viewIn } from "../../../core/desired";
import type { Intent, RestartLimits } from "../../../core/intent";
import { ownerAnnotations, ownerLabels } from "../../../core/owned";
import type { ClusterObjectView, DaemonSetView, PodView } from "../../../core/views";
import { RESTORED, SHORTENED } from "../intents";
import type { Observed } from "../observed";
import { isDrifted, type Pair } from "./pair";
import { ADMISSION_API } from "./policy";

/** Event reason of an eviction, the same for every remedy. */
const EVICTED = "PodEvicted";

/** The defaults of token restarts. Replacements with outcome Recovered count as one incident (docs/adr/0016). */
const LIMITS: RestartLimits = { cooldownMs: 600_000, maxRestarts: 3, maxRestartsWindowMs: 3_600_000 };

/** A pod without access does not wait because its own replacement was ineffective. */
const UNAUTHORIZED_LIMITS: RestartLimits = { ...LIMITS, cooldownMs: 0 };

/** Creates missing halves, so that the operator never takes over an object of another owner, and repairs drifted ones. */
export function buildPair({ name, halves }: Pair, daemonSet: string, owner: Observed["owner"], why: string): Intent[] {
  const annotations = { ...ownerAnnotations(owner), [DAEMON_SET_ANNOTATION]: daemonSet };
  const metadata = { labels: ownerLabels(owner), annotations };
  return halves
    .filter(half => half.state.is === "missing" || isDrifted(half))
    .map(({ kind, spec, state }): Intent => {
      const view = viewIn(state);
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

/** Deletes bindings first: a policy without a binding has no effect. */
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

/** Evicts a pod with a longer token; the Eviction API respects PodDisruptionBudgets. */
export function buildEviction(pod: PodView, daemonSet: DaemonSetView, why: string): Intent {
  return eviction(pod, daemonSet, why, LIMITS);
}

/** Evicts a pod that gets 401 responses with its shorter token. */
export function buildUnauthorizedEviction(pod: PodView, daemonSet: DaemonSetView, why: string): Intent {
  return eviction(pod, daemonSet, why, UNAUTHORIZED_LIMITS);
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

/** The workload's name in status.restarts. */
export function workloadOf({ name }: Pick<DaemonSetView, "name">): string {
  return `DaemonSet/${name}`;
}
