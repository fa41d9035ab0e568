import type { ControllerResilience, RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { parseDuration } from "../../core/duration";
import type { ObjectInMode } from "../../core/mode";
import type { Readers } from "../../core/readers";
import { isOpen } from "../../core/restarts";
import type { ContainerView, PodView, ServiceAccountView, WorkloadView } from "../../core/views";
import { serviceAccountUser } from "../../core/service-account-user";
import { PERSISTENT, type PersistenceRule } from "../../logs/persistence";
import type { FindUnauthorized } from "../../logs/reading/container-log";
import type { LogWatch } from "../../logs/reading/log-watch";
import { hasLog, type LogFinding, type Watched } from "../../logs/reading/watched-log";
import { requireApiUse } from "./api-use";
import { withAudiences } from "./audiences";
import { TOKEN_CAUSES } from "./cause";
import { unlessForbidden } from "../kit/problems";
import { hasEnded, isOwnedBy } from "../kit/pods";
import { findTargets } from "../kit/targets";
import { isLogEvidence, workloadId, type Observed, type ObservedWorkload, type Problem } from "./observed";
import { proofOf, type ProofContext } from "./prove";
import { recreationOf } from "./service-account-age";
import { withMemory } from "./known-pods";
import { observedPod, withFailures, type PodBeforeLogs } from "./observed-pod";
import { findSandboxes } from "./sandbox-evidence";
import type { SandboxTraces } from "../../logs/sandboxes/traces";

/** What is remembered of one ControllerResilience between two passes. */
export interface ObjectMemory {
  readonly logs: LogWatch;
  readonly sandboxes: SandboxTraces;
  readonly find: FindUnauthorized;
}

/** The persistence rule of a spec. */
export function ruleOf(spec: TokenRestartSpec): PersistenceRule {
  return { ...PERSISTENT, minDurationMs: parseDuration(spec.minDuration) };
}

interface WorkloadBeforeLogs {
  readonly view: WorkloadView;
  readonly pods: readonly PodBeforeLogs[];
}

/** What the functions of one pass share. */
interface Pass {
  readonly object: ControllerResilience;
  readonly spec: TokenRestartSpec;
  readonly readers: Readers;
  /** Failed reads are added here. */
  readonly problems: Problem[];
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
  const pass: Pass = { object, spec, readers, problems };
  const { namespace } = object.metadata;
  const running = (await readers.pods(namespace)).filter(pod => !hasEnded(pod));
  const found = await findTargets(object.spec.targets, { namespace, readers, problems });
  const workloads = await findPods(found.views, running, pass);
  if (spec.evidence.includes("Logs")) problems.push(...unknownContainers(spec, workloads));
  const watched = workloads.flatMap(({ pods }) => pods.flatMap(pod => pod.watched));
  const rule = ruleOf(spec);
  await memory.logs.want(readers, watched, { windowMs: rule.windowMs, find: memory.find, rule });
  const search = { readers, namespace, rule, traces: memory.sandboxes, problems };
  const sandboxes = await findSandboxes(spec.evidence.includes("SandboxEvents") ? workloads : [], search);
  const nowMs = readers.clock.now().getTime();
  const finding = (item: Watched): LogFinding => memory.logs.finding(item, rule, nowMs);
  const observedWorkloads = workloads.map(({ pods, ...workload }): ObservedWorkload => {
    return { ...workload, pods: pods.map(pod => withFailures(observedPod(pod, finding, problems), sandboxes)) };
  });
  const previousTargets = object.status?.targets ?? [];
  return {
    generation: object.metadata.generation,
    mode: object.mode,
    restarts: tokenRestarts(object),
    previousTargets,
    missingTargets: found.missing,
    workloads: observedWorkloads.map(workload => withMemory(workload, previousTargets, { rule, nowMs })),
    ambiguousNodes: sandboxes.ambiguousNodes,
    oneSidedNodes: sandboxes.oneSidedNodes,
    problems,
    readIntervalMs: readers.rounds.intervalMs(),
  };
}

async function findPods(
  views: readonly WorkloadView[],
  running: readonly PodView[],
  pass: Pass,
): Promise<WorkloadBeforeLogs[]> {
  const { object, readers } = pass;
  const audiences = await readers.apiAudiences();
  const podViews = running.map(pod => withAudiences(pod, audiences));
  const accounts = await readServiceAccounts(views, podViews, pass);
  const open = openRestarts(object);
  const rotation = await readers.keyRotation();
  const ownUser = await readers.ownUser();
  const nowMs = readers.clock.now().getTime();
  const workloads = views.map(view => {
    const hasOpenRestart = open.has(workloadId(view));
    const readsLogs = isLogEvidence(view, pass.spec);
    const context = { spec: pass.spec, rotation, nowMs, ownUser, hasOpenRestart, readsLogs };
    const pods = podViews.filter(pod => isOwnedBy(pod, view));
    return { view, pods: pods.map(pod => podBeforeLogs(pod, accounts, context)) };
  });
  return requireApiUse(workloads, { readers, namespace: object.metadata.namespace, problems: pass.problems });
}

/** Restarts with the causes of this remedy. Another remedy settles the others. */
function tokenRestarts({ status }: ControllerResilience): RestartStatus[] {
  return (status?.restarts ?? []).filter(({ cause }) => TOKEN_CAUSES.some(tokenCause => tokenCause === cause));
}

function openRestarts(object: ControllerResilience): ReadonlySet<string> {
  const open = tokenRestarts(object).filter(entry => isOpen(entry));
  return new Set(open.map(({ workload }) => workload));
}

/** By name; null: does not exist, undefined: cannot be read. */
type Accounts = ReadonlyMap<string, ServiceAccountView | null | undefined>;

async function readServiceAccounts(
  workloads: readonly WorkloadView[],
  pods: readonly PodView[],
  { readers, problems }: Pass,
): Promise<Accounts> {
  const accounts = new Map<string, ServiceAccountView | null | undefined>();
  for (const workload of workloads) {
    const names = pods.filter(pod => isOwnedBy(pod, workload)).map(pod => pod.serviceAccountName);
    for (const name of names) {
      if (accounts.has(name)) continue;
      accounts.set(name, await unlessForbidden(() => readers.serviceAccount(workload.namespace, name), problems));
    }
  }
  return accounts;
}

function podBeforeLogs(
  view: PodView,
  accounts: Accounts,
  context: ProofContext & {
    readonly spec: TokenRestartSpec;
    readonly ownUser: string | undefined;
    readonly hasOpenRestart: boolean;
    readonly readsLogs: boolean;
  },
): PodBeforeLogs {
  const { spec, ownUser, hasOpenRestart } = context;
  const account = accounts.get(view.serviceAccountName);
  const proof = proofOf(view, account, context);
  // A terminating pod gets 401 responses by design, so its log is no evidence.
  const isReadable = context.readsLogs && view.deletedAtMs === undefined;
  const suspicious = hasOpenRestart || proof !== undefined || account === null;
  return {
    view,
    proof,
    recreation: account ? recreationOf(view, account) : undefined,
    serviceAccount: account === undefined ? "unknown" : isGone(account) ? "missing" : "present",
    isOperator: ownUser === serviceAccountUser(view.namespace, view.serviceAccountName),
    watched: isReadable ? watchedContainers(view, spec).map(container => ({ pod: view, container, suspicious })) : [],
  };
}

/** A ServiceAccount that is being deleted counts as gone: the API server soon rejects its tokens. */
function isGone(account: ServiceAccountView | null): boolean {
  return account?.deletedAtMs !== undefined || account === null;
}

function watchedContainers(pod: PodView, { containers }: TokenRestartSpec): ContainerView[] {
  return pod.containers.filter(container => {
    const isWanted = containers.length === 0 ? container.role !== "init" : containers.includes(container.name);
    return isWanted && hasLog(container);
  });
}

/** Container names of the spec that no pod of a workload has: without this problem, its logs would look quiet forever. */
function unknownContainers({ containers }: TokenRestartSpec, workloads: readonly WorkloadBeforeLogs[]): Problem[] {
  const present = workloads
    .map(({ view, pods }) => ({ view, names: containerNames(pods) }))
    .filter(({ names }) => names.size > 0);
  if (containers.length === 0 || present.length === 0) return [];
  const nowhere = containers.filter(name => !present.some(({ names }) => names.has(name)));
  const unwatched = present.filter(({ names }) => !containers.some(name => names.has(name)));
  return [
    ...nowhere.map(name => `no pod of the targets has container ${name} of spec.tokenRestart.containers`),
    ...(nowhere.length === containers.length ? [] : unwatched.map(({ view }) => describeUnwatched(view))),
  ].map(message => ({ forbidden: false, message }));
}

function describeUnwatched(workload: WorkloadView): string {
  return `no pod of ${workloadId(workload)} has a container of spec.tokenRestart.containers`;
}

function containerNames(pods: readonly PodBeforeLogs[]): ReadonlySet<string> {
  return new Set(pods.flatMap(({ view }) => view.containers.map(({ name }) => name)));
}
