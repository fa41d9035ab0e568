import type { ControllerResilience, TokenRestartSpec } from "../../api/controller-resilience";
import { parseDuration } from "../../core/time";
import type { ObjectInMode } from "../../core/remedy";
import type { Readers } from "../../core/readers";
import { isOpen } from "../../restarts/history";
import { type PodView, serviceAccountOf, type ServiceAccountView } from "../../core/views";
import { PERSISTENT, type PersistenceRule } from "../../logs/persistence";
import type { FindUnauthorized } from "../../logs/reading/container-log";
import { type LogWatch, watchedContainers } from "../../logs/reading/log-watch";
import type { SandboxTraces } from "../../logs/sandboxes";
import { withAudiences } from "../kit/pods";
import type { Problem } from "../../core/errors";
import { workloadId } from "../../core/text";
import { unlessForbidden, unlessUnreadable } from "../kit/problems";
import { findTargetPods, type TargetPods } from "../kit/targets";
import { isLogEvidence, type Observed, type ObservedPod, type ObservedWorkload } from "./observed";
import {
  observedPod,
  unknownContainers,
  withCounted401s,
  type PodBeforeLogs,
  type WorkloadBeforeLogs,
} from "./pod-logs";
import { incidentsOf, type KnownAccount, proofIn, recreationOf, type ProofContext } from "./proof";
import { findSandboxes, NO_FINDINGS } from "./sandboxes";
import { withMemory } from "./target-status";

// Reads what the plan is made from: the workloads of the targets, their pods and ServiceAccounts, and the evidence about each pod.

/** What is remembered of one ControllerResilience between two passes. */
interface ObjectMemory {
  readonly logs: LogWatch;
  readonly sandboxes: SandboxTraces;
  readonly find: FindUnauthorized;
  /** By name of the ServiceAccount. */
  readonly accounts: Map<string, SeenAccount>;
}

/** A ServiceAccount as it was last seen. Times are monotonic. */
export interface SeenAccount {
  readonly uid: string;
  readonly seenMs: number;
  /** When another one was last seen in its place; -Infinity: never. */
  readonly otherMs: number;
}

/** What the functions of one pass share. */
interface Pass {
  readonly object: ControllerResilience;
  readonly spec: TokenRestartSpec;
  readonly readers: Readers;
  /** Failed reads are added here. */
  readonly problems: Problem[];
  readonly memory: Pick<ObjectMemory, "accounts">;
}

/** The persistence rule of a spec. */
export function ruleOf(spec: TokenRestartSpec): PersistenceRule {
  return { ...PERSISTENT, minDurationMs: parseDuration(spec.minDuration) };
}

/**
 * Reads workloads, their pods and ServiceAccounts, and what was found in the logs.
 *
 * @throws NotYetError while the first logs are being read, and any reader's error except ForbiddenError, which becomes a problem
 */
export async function observeTargets(
  object: ObjectInMode,
  spec: TokenRestartSpec,
  readers: Readers,
  memory: ObjectMemory,
): Promise<Observed> {
  const problems: Problem[] = [];
  const { namespace } = object.metadata;
  const found = await findTargetPods(object, readers, problems);
  const workloads = await withProofs(found.workloads, { object, spec, readers, problems, memory });
  if (spec.evidence.includes("Logs")) problems.push(...unknownContainers(spec, workloads));
  const watched = workloads.flatMap(({ pods }) => pods.flatMap(pod => pod.watched));
  const rule = ruleOf(spec);
  // A phrase of the user may be about what no API server has answered.
  const rest = { as: spec.extraPhrases?.length ? "dozing" : "asleep", wokenBy: ["401"] } as const;
  await memory.logs.want(readers, watched, { windowMs: rule.windowMs, find: memory.find, rule, rest });
  const search = { readers, namespace, rule, traces: memory.sandboxes, problems };
  const sandboxes = spec.evidence.includes("SandboxEvents") ? await findSandboxes(workloads, search) : NO_FINDINGS;
  const nowMs = readers.clock.now().getTime();
  const previousTargets = object.status?.targets ?? [];
  const rejected = previousTargets.filter(({ rejectedPods }) => rejectedPods > 0).map(workloadId);
  const unseen = memory.sandboxes.unseen(rejected, rule.minDurationMs, readers.clock.monotonicMs());
  const observedWorkload = ({ view, pods }: WorkloadBeforeLogs): ObservedWorkload => {
    const observed = pods.map(pod =>
      withOthers(observedPod(pod, memory.logs, problems), sandboxes.failuresOf(pod.view), { object, spec, readers }),
    );
    const known = withMemory({ view, pods: observed }, previousTargets, { rule, nowMs });
    return unseen.includes(workloadId(view)) ? withoutEvents(known) : known;
  };
  return {
    mode: object.mode,
    restarts: object.status?.restarts ?? [],
    previousTargets,
    missingTargets: found.missing,
    workloads: workloads.map(observedWorkload),
    doubtfulNodes: sandboxes.doubtful,
    problems,
  };
}

/** A new leader does not know yet that an agent is well that its predecessor rejected, so that no restart settles as helpful. */
function withoutEvents({ view, pods }: ObservedWorkload): ObservedWorkload {
  const seen = pods.map(({ sandboxes, ...pod }) => (sandboxes?.state === "persistent" ? { ...pod, sandboxes } : pod));
  return { view, isUnseen: pods.some(({ sandboxes }) => sandboxes !== undefined), pods: seen };
}

/** Adds failed sandboxes of its node, and what the pod counts itself. That it cannot be read is said by stallDetection. */
function withOthers(
  pod: ObservedPod,
  sandboxes: ObservedPod["sandboxes"],
  { object, spec, readers }: Pick<Pass, "object" | "spec" | "readers">,
): ObservedPod {
  const { metrics } = (spec.evidence.includes("Logs") && object.spec.stallDetection) || {};
  const track = metrics && readers.podMetrics(pod.view, metrics).track;
  const epochMs = readers.clock.now().getTime() - readers.clock.monotonicMs();
  const known = track === undefined ? pod : withCounted401s(pod, track, epochMs);
  return sandboxes === undefined ? known : { ...known, sandboxes };
}

/** Adds to each pod what proves that its token is invalid, and which of its logs are read. */
async function withProofs(targets: readonly TargetPods[], pass: Pass): Promise<WorkloadBeforeLogs[]> {
  const { object, readers, spec } = pass;
  const audiences = await readers.apiAudiences();
  const accounts = await readServiceAccounts(
    targets.flatMap(({ pods }) => pods.map(({ view }) => view)),
    pass,
  );
  const restarts = (object.status?.restarts ?? []).filter(entry => isOpen(entry));
  const open = new Set(restarts.map(({ workload }) => workload));
  const rotation = await readers.keyRotation();
  const nowMs = readers.clock.now().getTime();
  const workloads = targets.map(({ view, pods }) => {
    const hasOpenRestart = open.has(workloadId(view));
    const context = { spec, rotation, nowMs, hasOpenRestart, readsLogs: isLogEvidence(view, spec) };
    const proven = (pod: TargetPods["pods"][number]): PodBeforeLogs => ({
      ...pod,
      ...podBeforeLogs(withAudiences(pod.view, audiences), accounts.get(pod.view.serviceAccountName), context),
    });
    return { view, pods: pods.map(proven) };
  });
  return requireApiUse(workloads, pass);
}

/** A ServiceAccount; null: does not exist, undefined: cannot be read. */
type Account = KnownAccount | null | undefined;

async function readServiceAccounts(
  pods: readonly PodView[],
  { object, readers, problems, memory: { accounts } }: Pass,
): Promise<ReadonlyMap<string, Account>> {
  const names = [...new Set(pods.map(pod => pod.serviceAccountName))];
  const read = async (name: string): Promise<[string, Account]> => {
    const account = (): Promise<ServiceAccountView | null> => readers.serviceAccount(object.metadata.namespace, name);
    const view = await unlessForbidden(account, problems);
    if (!view || isGone(view)) return [name, view];
    const before = accounts.get(name);
    const otherMs = (before?.uid === view.uid ? before.otherMs : before?.seenMs) ?? -Infinity;
    const seenMs = readers.clock.monotonicMs();
    accounts.set(name, { uid: view.uid, seenMs, otherMs });
    return [name, { ...view, sinceOtherMs: seenMs - otherMs }];
  };
  return new Map(await Promise.all(names.map(read)));
}

interface PodContext extends ProofContext {
  readonly spec: TokenRestartSpec;
  readonly hasOpenRestart: boolean;
  readonly readsLogs: boolean;
}

function podBeforeLogs(view: PodView, account: Account, context: PodContext): Omit<PodBeforeLogs, "isOperator"> {
  const { spec, hasOpenRestart, readsLogs } = context;
  const incidents = incidentsOf(view, account, context);
  const proof = proofIn(incidents);
  const mayHoldOldToken = incidents.some(({ renewedMs }) => context.nowMs < renewedMs);
  const notBeforeMs = Math.max(...incidents.map(incident => incident.notBeforeMs));
  const suspicious = hasOpenRestart || proof !== undefined || account === null;
  const watched = readsLogs ? watchedContainers(view, spec.containers) : [];
  return {
    view,
    proof,
    recreation: account ? recreationOf(view, account) : undefined,
    mayHoldOldToken,
    notBeforeMs,
    serviceAccount: account === undefined ? "unknown" : isGone(account) ? "missing" : "present",
    watched: watched.map(item => ({ ...item, suspicious, kubelets401s: incidents })),
  };
}

/** A ServiceAccount that is being deleted counts as gone: the API server soon rejects its tokens. */
function isGone(account: ServiceAccountView | null): boolean {
  return account?.deletedAtMs !== undefined || account === null;
}

// An invalid token does no harm to a pod that never uses it, such as a web server with the ServiceAccount `default`. Rights of its
// own ServiceAccount show that a pod uses the API server.

/**
 * Weakens proofs that are sufficient alone where no binding names the ServiceAccount of the pod: a 401 must then confirm them. Bindings are
 * read only if there is such a proof. `workloads` are of one namespace.
 *
 * @throws errors that are neither ForbiddenError nor TransientError
 */
async function requireApiUse(workloads: readonly WorkloadBeforeLogs[], pass: Pass): Promise<WorkloadBeforeLogs[]> {
  const pods = workloads.flatMap(workload => workload.pods).filter(({ proof }) => proof?.alone === true);
  const accounts = await unboundAccounts(
    pods.map(({ view }) => view.serviceAccountName),
    pass,
  );
  const required = (pod: PodBeforeLogs): PodBeforeLogs => {
    const isUnseen = pod.proof?.alone === true && accounts.has(pod.view.serviceAccountName);
    return isUnseen ? { ...pod, proof: { ...pod.proof, alone: false } } : pod;
  };
  return workloads.map(workload => ({ ...workload, pods: workload.pods.map(required) }));
}

/** Those of the ServiceAccounts that no binding is known to name. */
async function unboundAccounts(
  names: readonly string[],
  { object, readers, problems }: Pass,
): Promise<ReadonlySet<string>> {
  const { namespace } = object.metadata;
  let accounts = new Set(names);
  for (const kind of ["RoleBinding", "ClusterRoleBinding"] as const) {
    if (accounts.size === 0) break;
    const bindings = await unlessUnreadable(() => readers.bindings(kind, namespace), problems);
    // Groups do not count: Kubernetes itself gives every ServiceAccount some rights.
    const bound = new Set((bindings ?? []).flatMap(({ subjects }) => subjects.map(serviceAccountOf)));
    accounts = new Set([...accounts].filter(name => !bound.has(`${namespace}/${name}`)));
  }
  return accounts;
}
