import type { StallDetectionSpec, TokenRestartSpec } from "../../api/controller-resilience";
import { parseDuration } from "../../core/time";
import type { ObjectInMode } from "../../core/remedy";
import type { KindReading } from "../../core/progress";
import type { Readers } from "../../core/readers";
import type { BindingView } from "../../core/views";
import { withHolders } from "../../restarts/holder";
import type { Problem } from "../../core/errors";
import { unlessForbidden } from "../kit/problems";
import { findTargetPods, type TargetPods } from "../kit/targets";
import { staleLeases } from "./lease-judge";
import { readLeases, withLeases } from "./leases";
import { readLogs } from "./logs";
import { withLeaders, withMetrics } from "./metrics";
import { readKinds } from "./progress";
import type { ObjectMemory, Pass, Limits, Observed, ObservedPod, ObservedWorkload } from "./observed";

/**
 * Reads workloads, pods, Leases, bindings and what was found in the logs.
 *
 * @throws NotYetError while the first logs are being read, and any reader's error except ForbiddenError, which becomes a problem
 */
export async function observeControllers(
  object: ObjectInMode,
  spec: StallDetectionSpec,
  readers: Readers,
  memory: ObjectMemory,
): Promise<Observed> {
  const problems: Problem[] = [];
  const pass: Pass = { object, spec, readers, memory, problems };
  const { all, missing, workloads: targets } = await findTargetPods(object, readers, problems);
  const found = withMetrics(await withLogs(targets, pass), pass);
  const nowMs = readers.clock.now().getTime();
  const { leases, unread } = await readLeases(pass);
  const forMs = parseDuration(spec.for);
  const due = (workload: ObservedWorkload): boolean => isDue(workload, spec, forMs);
  const epochMs = nowMs - readers.clock.monotonicMs();
  const led = withLeases(found, leases, all, pass).map(workload => withLeaders(workload, forMs, epochMs));
  const marked = memory.rollouts.mark(led, due, nowMs);
  const workloads = await withHolders(marked, due, object, readers);
  const lost = memory.bindings.follow(await readBindings(pass), accountsOf(found), nowMs);
  const kinds = await readKinds(workloads, pass);
  const isUnread = ({ readMs, unknown }: KindReading): boolean => readMs === undefined || unknown !== undefined;
  const { status } = object;
  return {
    generation: object.metadata.generation,
    mode: object.mode,
    restarts: status?.restarts ?? [],
    previous: status?.stalls ?? [],
    limits: limitsOf(object.spec.tokenRestart),
    missingTargets: missing,
    workloads,
    lost,
    ...{ kinds, epochMs },
    unread: [...unread, ...kinds.flatMap(({ kind, reading }) => (isUnread(reading) ? `${kind} ` : []))],
    problems,
  };
}

/** Reports whether a pod of the workload may have to be restarted. */
function isDue({ pods }: ObservedWorkload, { onStall }: StallDetectionSpec, forMs: number): boolean {
  const isCondemned = ({ leases, idle }: ObservedPod): boolean =>
    staleLeases(leases, forMs).length > 0 || idle !== undefined;
  return onStall === "Restart" && pods.some(isCondemned);
}

async function withLogs(targets: readonly TargetPods[], pass: Pass): Promise<ObservedWorkload[]> {
  const views = targets.flatMap(({ pods }) => pods.map(pod => pod.view));
  const logs = await readLogs(views, pass);
  const withLog = (pod: TargetPods["pods"][number]): ObservedPod => {
    return { ...pod, leads: true, leases: [], logs: logs.get(pod.view.uid) ?? [] };
  };
  return targets.map(({ view, pods }) => ({ view, pods: pods.map(withLog) }));
}

/** The ServiceAccounts of the pods, as `namespace/name`. */
function accountsOf(workloads: readonly ObservedWorkload[]): string[] {
  const views = workloads.flatMap(({ pods }) => pods.map(({ view }) => view));
  return [...new Set(views.map(({ namespace, serviceAccountName }) => `${namespace}/${serviceAccountName}`))];
}

/** Undefined: they are not wanted, or not all of them can be read. */
async function readBindings({ object, spec, readers, problems }: Pass): Promise<readonly BindingView[] | undefined> {
  if (!spec.evidence.includes("Forbidden")) return undefined;
  const { namespace } = object.metadata;
  const ofNamespace = await unlessForbidden(() => readers.bindings("RoleBinding", namespace), problems);
  const ofCluster = await unlessForbidden(() => readers.bindings("ClusterRoleBinding", namespace), problems);
  return ofNamespace && ofCluster && [...ofNamespace, ...ofCluster];
}

/** The defaults of tokenRestart. */
const DEFAULTS = { cooldown: "10m", maxRestarts: 3, maxUnavailable: 1 };

function limitsOf(spec: TokenRestartSpec | undefined): Limits {
  const { cooldown, maxRestarts, maxUnavailable } = spec ?? DEFAULTS;
  return { cooldownMs: parseDuration(cooldown), maxRestarts, maxUnavailable };
}
