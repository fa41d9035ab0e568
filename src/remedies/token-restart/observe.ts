import type { ControllerResilience, RestartStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { ForbiddenError } from "../../core/errors";
import { parseDuration } from "../../core/duration";
import type { Readers } from "../../core/readers";
import { isOpen } from "../../core/restarts/budget";
import { describeTarget, readTarget } from "../kit/targets";
import type { ContainerView, PodView, ServiceAccountView, WorkloadView } from "../../core/views";
import { TOKEN_CAUSES, type Onset } from "./cause";
import type { FindUnauthorized } from "../../logs/reading/container-log";
import { SEVERITY, workloadId, type PodFacts, type Problem, type TokenRestartFacts, type WorkloadFacts } from "./facts";
import { hasLog, type LogFinding, type LogWatch, type Watched } from "../../logs/reading/log-watch";
import type { PersistenceRule, Persistence } from "../../logs/persistence";
import { findSandboxes } from "./sandbox-evidence";
import type { SandboxTraces } from "./sandbox-traces";
import { proveByAge, weighLogs, type AgeProof } from "./service-account-age";
import { isOver, isPodOf } from "./targets";

/** What is remembered of one ControllerResilience between two passes. */
export interface ObjectMemory {
  readonly logs: LogWatch;
  readonly sandboxes: SandboxTraces;
  readonly find: FindUnauthorized;
}

/** The rule of persistence that a spec asks for. */
export function ruleOf(spec: TokenRestartSpec): PersistenceRule {
  return {
    occasions: spec.occasions,
    windowMs: parseDuration(spec.window),
    minDurationMs: parseDuration(spec.minDuration),
  };
}

/** A pod in the making: what is known of it before its logs are read. */
interface Candidate {
  readonly pod: PodView;
  readonly proof: AgeProof | undefined;
  readonly serviceAccount: PodFacts["serviceAccount"];
  readonly watched: readonly Watched[];
}

/**
 * Everything that a decision needs: workloads, their pods, ServiceAccounts, and what is new in the logs.
 *
 * @throws whatever a reader throws, but ForbiddenError, which becomes a problem among the facts
 */
export async function observeTokens(
  object: ControllerResilience,
  spec: TokenRestartSpec,
  from: Readers,
  memory: ObjectMemory,
): Promise<Omit<TokenRestartFacts, "onsets" | "blocks">> {
  const problems: Problem[] = [];
  const found = await findWorkloads(object, from, problems);
  const gathered = await gatherPods(object, spec, from, { workloads: found.workloads, problems });
  if (spec.evidence.includes("Logs")) problems.push(...unknownContainers(spec, gathered));
  const watched = gathered.flatMap(({ candidates }) => candidates.flatMap(candidate => candidate.watched));
  const rule = ruleOf(spec);
  await memory.logs.pass(from, watched, { windowMs: rule.windowMs, find: memory.find, rule });
  const readsEvents = spec.evidence.includes("SandboxEvents");
  const { namespace } = object.metadata;
  const search = { from, namespace, rule, traces: memory.sandboxes, problems };
  const sandboxes = await findSandboxes(readsEvents ? gathered : [], search);
  const nowMs = from.clock.now().getTime();
  const finding = (item: Watched): LogFinding => memory.logs.finding(item, rule, nowMs);
  return {
    generation: object.metadata.generation,
    mode: object.spec.mode,
    restarts: ownRestarts(object),
    previousTargets: object.status?.targets ?? [],
    missingTargets: found.missing,
    workloads: gathered.map(({ workload, candidates }) => ({
      workload,
      pods: candidates.map(candidate => {
        const sandbox = sandboxes.verdictOf(candidate.pod);
        return { ...factsOf(candidate, finding, problems), ...(sandbox === undefined ? {} : { sandbox }) };
      }),
    })),
    undecided: sandboxes.undecided,
    problems,
    nextReadInMs: memory.logs.nextReadInMs(from, watched, rule),
  };
}

async function gatherPods(
  object: ControllerResilience,
  spec: TokenRestartSpec,
  from: Readers,
  found: { readonly workloads: readonly WorkloadView[]; readonly problems: Problem[] },
): Promise<{ workload: WorkloadView; candidates: Candidate[] }[]> {
  const pods = (await from.pods(object.metadata.namespace)).filter(pod => !isOver(pod));
  const accounts = await readServiceAccounts(found.workloads, pods, from, found.problems);
  const open = openRestarts(object);
  const nowMs = from.clock.now().getTime();
  return found.workloads.map(workload => {
    const by = { spec, nowMs, watching: open.has(workloadId(workload)) };
    const own = pods.filter(pod => isPodOf(pod, workload));
    return { workload, candidates: own.map(pod => candidateOf(pod, accounts, by)) };
  });
}

/** Those of other causes are another remedy's to tell of. */
function ownRestarts({ status }: ControllerResilience): RestartStatus[] {
  return (status?.restarts ?? []).filter(({ cause }) => TOKEN_CAUSES.some(own => own === cause));
}

function openRestarts(object: ControllerResilience): ReadonlySet<string> {
  const open = ownRestarts(object).filter(entry => isOpen(entry));
  return new Set(open.map(entry => entry.workload));
}

async function findWorkloads(
  object: ControllerResilience,
  from: Readers,
  problems: Problem[],
): Promise<{ workloads: WorkloadView[]; missing: string[] }> {
  const byUid = new Map<string, WorkloadView>();
  const missing: string[] = [];
  for (const [index, target] of object.spec.targets.entries()) {
    const matching = await allowed(() => readTarget(target, object.metadata.namespace, from), problems);
    if (matching?.length === 0) missing.push(describeTarget(target, index));
    for (const workload of matching ?? []) byUid.set(workload.uid, workload);
  }
  return { workloads: [...byUid.values()], missing };
}

type Accounts = ReadonlyMap<string, ServiceAccountView | null | undefined>;

async function readServiceAccounts(
  workloads: readonly WorkloadView[],
  pods: readonly PodView[],
  from: Readers,
  problems: Problem[],
): Promise<Accounts> {
  const accounts = new Map<string, ServiceAccountView | null | undefined>();
  for (const workload of workloads) {
    const names = pods.filter(pod => isPodOf(pod, workload)).map(pod => pod.serviceAccountName);
    for (const name of names) {
      if (accounts.has(name)) continue;
      accounts.set(name, await allowed(() => from.serviceAccount(workload.namespace, name), problems));
    }
  }
  return accounts;
}

/** The answer; undefined, and a problem, if it is forbidden. */
async function allowed<T>(read: () => Promise<T>, problems: Problem[]): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    if (!problems.some(problem => problem.message === error.message))
      problems.push({ forbidden: true, message: error.message });
    return undefined;
  }
}

function candidateOf(
  pod: PodView,
  accounts: Accounts,
  by: { readonly spec: TokenRestartSpec; readonly nowMs: number; readonly watching: boolean },
): Candidate {
  const account = accounts.get(pod.serviceAccountName);
  const byAge = by.spec.evidence.includes("ServiceAccountAge");
  const proof = byAge && account ? proveByAge(pod, account, by.nowMs) : undefined;
  // A pod that is being deleted is answered 401 by design; what it says is no evidence.
  const readable = by.spec.evidence.includes("Logs") && pod.deletedAtMs === undefined;
  const suspicious = by.watching || proof !== undefined || account === null;
  return {
    pod,
    proof,
    serviceAccount: account === undefined ? "unknown" : isGone(account) ? "missing" : "present",
    watched: readable ? watchedContainers(pod, by.spec).map(container => ({ pod, container, suspicious })) : [],
  };
}

/** One that is being deleted is as good as gone: the API server rejects its tokens soon after. */
function isGone(account: ServiceAccountView | null): boolean {
  return account?.deletedAtMs !== undefined || account === null;
}

function watchedContainers(pod: PodView, spec: TokenRestartSpec): ContainerView[] {
  const { containers } = spec;
  return pod.containers.filter(container => {
    const isWanted = containers.length === 0 ? container.role !== "init" : containers.includes(container.name);
    return isWanted && hasLog(container);
  });
}

/** A name that is in no pod of a workload would make its logs look quiet for ever. */
function unknownContainers(
  { containers }: TokenRestartSpec,
  gathered: readonly { readonly workload: WorkloadView; readonly candidates: readonly Candidate[] }[],
): Problem[] {
  const present = gathered
    .map(({ workload, candidates }) => ({ workload, names: namesIn(candidates) }))
    .filter(({ names }) => names.size > 0);
  if (containers.length === 0 || present.length === 0) return [];
  const nowhere = containers.filter(name => !present.some(({ names }) => names.has(name)));
  const blind = present.filter(({ names }) => !containers.some(name => names.has(name)));
  return [
    ...nowhere.map(name => `no pod of the targets has a container ${name}, which spec.tokenRestart.containers names`),
    ...(nowhere.length === containers.length ? [] : blind.map(({ workload }) => blindness(workload))),
  ].map(message => ({ forbidden: false, message }));
}

function blindness(workload: WorkloadView): string {
  return `no pod of ${workloadId(workload)} has a container that spec.tokenRestart.containers names`;
}

function namesIn(candidates: readonly Candidate[]): ReadonlySet<string> {
  return new Set(candidates.flatMap(({ pod }) => pod.containers.map(({ name }) => name)));
}

function factsOf(candidate: Candidate, finding: (item: Watched) => LogFinding, problems: Problem[]): PodFacts {
  const findings = candidate.watched.map(item => finding(item));
  for (const [i, { error }] of findings.entries()) {
    const container = candidate.watched[i]?.container.name ?? "";
    const message = `the log of container ${container} of pod ${candidate.pod.name} can't be read: ${error?.message ?? ""}`;
    if (error !== undefined) problems.push({ forbidden: error.forbidden, message });
  }
  const readMs = Math.min(...findings.map(({ readMs }) => readMs ?? -Infinity));
  return {
    pod: candidate.pod,
    verdict: worst(findings.map(({ persistence }) => persistence)),
    ...(candidate.proof === undefined
      ? {}
      : {
          proof: weighLogs(
            candidate.proof,
            findings.map(({ quiet }) => quiet),
          ),
        }),
    serviceAccount: candidate.serviceAccount,
    ...(Number.isFinite(readMs) ? { readMs } : {}),
    unreadable: findings.length === 0 || findings.some(({ error }) => error !== undefined),
  };
}

function worst(verdicts: readonly Persistence[]): Persistence {
  return verdicts.reduce<Persistence>((a, b) => (SEVERITY[b.state] > SEVERITY[a.state] ? b : a), {
    state: "quiet",
    occasions: 0,
  });
}

/** Since when pods are rejected for reasons that the age of their ServiceAccount does not explain. */
export function onsetsOf(workloads: readonly WorkloadFacts[], nowMs: number): Onset[] {
  return workloads.flatMap(({ workload, pods }) =>
    pods.flatMap(({ pod, verdict, proof, serviceAccount }): Onset[] => {
      if (verdict.firstMs === undefined || proof !== undefined || serviceAccount === "missing") return [];
      const { namespace, serviceAccountName } = pod;
      return [
        {
          workload: workloadId(workload),
          namespace,
          serviceAccount: serviceAccountName,
          sinceMs: verdict.firstMs,
          seenMs: nowMs,
          isPersistent: verdict.state === "persistent",
        },
      ];
    }),
  );
}
