import { Cause } from "../../api/conditions";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import type { Problem } from "../../core/errors";
import type { Readers } from "../../core/readers";
import type { ObjectInMode } from "../../core/remedy";
import { workloadId } from "../../core/text";
import { parseDuration } from "../../core/time";
import { type PodView, serviceAccountOf, type ServiceAccountView, type WorkloadView } from "../../core/views";
import { PERSISTENT, type PersistenceRule } from "../../logs/persistence";
import type { FindUnauthorized } from "../../logs/reading/container-log";
import { type LogWatch, watchedContainers } from "../../logs/reading/log-watch";
import type { SandboxTraces } from "../../logs/sandboxes";
import { isOpen, mayRelapse } from "../../restarts/history";
import { withAudiences } from "../kit/pods";
import { unlessForbidden, unlessUnreadable } from "../kit/problems";
import { findTargetPods, type TargetPods } from "../kit/targets";
import { isLogEvidence, type Observed, type ObservedPod, type ObservedWorkload } from "./observed";
import {
  observedPod,
  type PodBeforeLogs,
  unknownContainers,
  withCounted401s,
  type WorkloadBeforeLogs,
} from "./pod-logs";
import { incidentsOf, type KnownAccount } from "./proof";
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
  readonly object: ObjectInMode;
  readonly spec: TokenRestartSpec;
  readonly readers: Readers;
  readonly memory: ObjectMemory;
  /** Failed reads are added here. */
  readonly problems: Problem[];
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
  const pass = { object, spec, readers, memory, problems };
  const found = await findTargetPods(object, readers, problems);
  const workloads = await requireApiUse(await withProofs(found.workloads, pass), pass);
  if (spec.evidence.includes("Logs")) problems.push(...unknownContainers(spec, workloads));
  const watched = workloads.flatMap(({ pods }) => pods.flatMap(pod => pod.watched));
  const rule = ruleOf(spec);
  const restarts = object.status?.restarts ?? [];
  const nowMs = readers.clock.now().getTime();
  // Only logs show a relapse, or a phrase of the user, which may be about what no API server has answered.
  const isLogNeeded =
    spec.extraPhrases?.length || restarts.some(one => one.cause === Cause.Unknown && mayRelapse(one, nowMs));
  const rest = { as: isLogNeeded ? "dozing" : "asleep", wokenBy: ["401"] } as const;
  await memory.logs.want(readers, watched, { find: memory.find, rule, rest });
  return {
    mode: object.mode,
    restarts,
    missingTargets: found.missing,
    ...(await withEvidence(workloads, rule, pass)),
    problems,
  };
}

/** Adds what the logs, the Events and the pods themselves show, and what status remembers. */
async function withEvidence(
  workloads: readonly WorkloadBeforeLogs[],
  rule: PersistenceRule,
  { object, spec, readers, memory, problems }: Pass,
): Promise<Pick<Observed, "workloads" | "doubtfulNodes">> {
  const { namespace } = object.metadata;
  const traces = memory.sandboxes;
  const search = { readers, namespace, rule, traces, problems };
  const sandboxes = spec.evidence.includes("SandboxEvents") ? await findSandboxes(workloads, search) : NO_FINDINGS;
  const [nowMs, monotonicMs] = [readers.clock.now().getTime(), readers.clock.monotonicMs()];
  const targets = object.status?.targets ?? [];
  const rejected = targets.filter(({ rejectedPods }) => rejectedPods > 0).map(workloadId);
  const unseen = traces.unseen(rejected, rule.minDurationMs, monotonicMs);
  // That they cannot be read is said by stallDetection.
  const metricsOf = (view: WorkloadView) =>
    isLogEvidence(view, spec) ? object.spec.stallDetection?.metrics : undefined;
  const observedWorkload = ({ view, pods }: WorkloadBeforeLogs): ObservedWorkload => {
    // A new leader does not know yet that an agent is well that its predecessor rejected, so that no restart settles as helpful.
    const isBlind = unseen.includes(workloadId(view));
    const metrics = metricsOf(view);
    const observed = pods.map((pod): ObservedPod => {
      const track = metrics && readers.podMetrics(pod.view, metrics).track;
      const known = withCounted401s(observedPod(pod, memory.logs, problems), track, nowMs - monotonicMs);
      const failures = sandboxes.failuresOf(pod.view);
      return isBlind && failures?.state !== "persistent" ? known : { ...known, sandboxes: failures };
    });
    const previous = targets.find(({ kind, name }) => kind === view.kind && name === view.name);
    const isUnseen = isBlind && pods.some(pod => sandboxes.failuresOf(pod.view) !== undefined);
    return { view, previous, isUnseen, pods: withMemory(observed, previous, { rule, nowMs }) };
  };
  return { workloads: workloads.map(observedWorkload), doubtfulNodes: sandboxes.doubtful };
}

/** Adds to each pod what proves that its token is invalid, and which of its logs are read. */
async function withProofs(targets: readonly TargetPods[], pass: Pass): Promise<WorkloadBeforeLogs[]> {
  const { object, readers, spec } = pass;
  const audiences = await readers.apiAudiences();
  const accounts = await readServiceAccounts(
    targets.flatMap(({ pods }) => pods.map(({ view }) => view)),
    pass,
  );
  const open = (object.status?.restarts ?? []).filter(isOpen).map(({ workload }) => workload);
  const rotation = await readers.keyRotation();
  const context = { spec, rotation, nowMs: readers.clock.now().getTime() };
  return targets.map(({ view: workload, pods }) => {
    const hasOpenRestart = open.includes(workloadId(workload));
    const proven = ({ view: pod, isOperator }: TargetPods["pods"][number]): PodBeforeLogs => {
      const view = withAudiences(pod, audiences);
      const account = accounts.get(view.serviceAccountName);
      const incidents = incidentsOf(view, account, context);
      const { proof } = incidents.find(incident => incident.proof) ?? {};
      const suspicious = hasOpenRestart || proof !== undefined || account === null;
      const watched = isLogEvidence(workload, spec) ? watchedContainers(view, spec.containers) : [];
      return {
        ...{ view, isOperator, incidents, proof },
        recreation: account && view.createdAtMs < account.createdAtMs ? account : undefined,
        serviceAccount: account === undefined ? "unknown" : isGone(account) ? "missing" : "present",
        watched: watched.map(item => ({ ...item, suspicious, kubelets401s: incidents })),
      };
    };
    return { view: workload, pods: pods.map(proven) };
  });
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

/** A ServiceAccount that is being deleted counts as gone: the API server soon rejects its tokens. */
function isGone(account: ServiceAccountView | null): boolean {
  return account?.deletedAtMs !== undefined || account === null;
}

/**
 * Weakens proofs that are sufficient alone where no binding names the ServiceAccount of the pod: a 401 must then confirm them, since an invalid
 * token does no harm to a pod that never uses it, such as a web server with the ServiceAccount `default`. Bindings are read only if there is such a
 * proof. `workloads` are of one namespace.
 *
 * @throws errors that are neither ForbiddenError nor TransientError
 */
async function requireApiUse(
  workloads: readonly WorkloadBeforeLogs[],
  { object, readers, problems }: Pass,
): Promise<WorkloadBeforeLogs[]> {
  const { namespace } = object.metadata;
  const alone = workloads.flatMap(({ pods }) => pods).filter(({ proof }) => proof?.alone === true);
  let unbound = new Set(alone.map(({ view }) => view.serviceAccountName));
  for (const kind of ["RoleBinding", "ClusterRoleBinding"] as const) {
    if (unbound.size === 0) break;
    const bindings = await unlessUnreadable(() => readers.bindings(kind, namespace), problems);
    // Groups do not count: Kubernetes itself gives every ServiceAccount some rights.
    const bound = new Set((bindings ?? []).flatMap(({ subjects }) => subjects.map(serviceAccountOf)));
    unbound = new Set([...unbound].filter(name => !bound.has(`${namespace}/${name}`)));
  }
  const required = (pod: PodBeforeLogs): PodBeforeLogs =>
    pod.proof && unbound.has(pod.view.serviceAccountName) ? { ...pod, proof: { ...pod.proof, alone: false } } : pod;
  return workloads.map(({ view, pods }) => ({ view, pods: pods.map(required) }));
}
