import type { FlowIsolationSpec, FlowStatus } from "../../api/controller-resilience";
import { parseDuration } from "../../core/time";
import { NotYetError, publicMessage, ResilienceError, TerminalError, UnauthorizedError } from "../../core/errors";
import { explainUnknown, type Mode, type ObjectInMode, unknownTargets } from "../../core/remedy";
import type { Readers, RequestRates } from "../../core/readers";
import { serviceAccountUser } from "../../core/text";
import {
  type ClusterKind,
  type ClusterObjectView,
  groupBy,
  type PodView,
  standsFor,
  type WorkloadView,
} from "../../core/views";
import { findTargets, requestNumberOf } from "../kit/targets";
import {
  FLOW_CONTROL,
  type FlowControl,
  leaseFlow,
  type Piece,
  pieceOf,
  presentFlow,
  throttles,
  wantedLevels,
} from "./objects";
import { MAX_OLDEST_MS } from "./rate";

/** Everything that a plan depends on: plain data, as observed. */
export interface FlowIsolationFacts extends FlowControl {
  readonly mode: Mode;
  /** What the ControllerResilience asks for. */
  readonly generation: number;
  readonly accounts: readonly AccountFacts[];
  /** The levels that the operator keeps for this object. */
  readonly kept: readonly Piece[];
  /** Names of the ServiceAccounts beyond those that one object isolates. */
  readonly leftOut: readonly string[];
  /** Targets that no workload matches. */
  readonly missingTargets: readonly string[];
  readonly rates: RequestRates;
  /** Why the targets are not understood, if they have values that only a later version knows: then throttles end, and nothing else happens. */
  readonly notUnderstood?: string;
}

/** A ServiceAccount of the targets. */
export interface AccountFacts {
  readonly name: string;
  readonly record?: FlowStatus;
  /** FlowSchema for all its requests, as wanted on the level that it is on. */
  readonly present: Piece;
  /** FlowSchema for its leases. */
  readonly lease: Piece;
  /** Most running pods of the namespace that used it while the requests were measured that count now. Absent: unknown. */
  readonly runningPods?: number;
  /** One of its pods or targets is a component of the cluster, with the skip annotation or without. Absent: unknown, since neither is there. */
  readonly isComponent?: boolean;
  /** One of its targets, or of its pods that run, has the skip annotation. */
  readonly isSpared: boolean;
  /** The operator runs as it. */
  readonly isOperator: boolean;
}

/** ServiceAccounts of one object: its author is no cluster administrator, and each costs two FlowSchemas. */
export const MAX_ACCOUNTS = 32;

/** Time until the next reading of the rates in milliseconds, which is also their maximum age: normally, and while a flow may soon be throttled. */
const CALM_MS = 30_000;
const WATCHED_MS = 5_000;
const WATCHED: readonly FlowStatus["state"][] = ["Elevated", "Probation"];

/** Time until the next reading of the rates, in milliseconds. `states` are those of the flows that may be throttled. */
export function measuredEvery(states: readonly FlowStatus["state"][]): number {
  return states.some(state => WATCHED.includes(state)) ? WATCHED_MS : CALM_MS;
}

/**
 * Reads the ServiceAccounts of the targets, the FlowSchemas and levels of the cluster, and the request rates.
 *
 * @throws the readers' errors
 */
export async function observeFlows(
  object: ObjectInMode,
  spec: FlowIsolationSpec,
  readers: Readers,
  memory = new FlowMemory(),
): Promise<FlowIsolationFacts> {
  const { mode, metadata } = object;
  const records = object.status?.flows ?? [];
  // For so long back requests count: `for`, with the spans at both ends.
  const countedMs = parseDuration(spec.requestRate.for) + 2 * MAX_OLDEST_MS;
  // First, since it takes longest: the objects to compare must be fresh.
  const watched = mode === "Enforce" && throttles(spec) ? records.map(({ state }) => state) : [];
  const rates = await readers.requestRates(measuredEvery(watched), countedMs);
  const { accounts, ...found } = await accountsOf(object, records, readers);
  const users = await usersIn(metadata.namespace, readers);
  const nowMs = readers.clock.now().getTime();
  memory.forget(nowMs - countedMs, nowMs);
  const ownUser = await readers.ownUser();
  const schemas = await served("FlowSchema", readers);
  const control = { owner: { metadata }, schemas, levels: await served("PriorityLevelConfiguration", readers) };
  const look = (piece: Piece): Piece => memory.look(piece, readers.clock.monotonicMs());
  const factsOf = ({ workloads, ...account }: Account): AccountFacts => {
    const own = users?.pods.get(account.name) ?? [];
    const isDelegator = users?.delegators.some(one => standsFor(one, `${metadata.namespace}/${account.name}`)) === true;
    const signs = [...workloads, ...own].map(({ isComponent }) => isDelegator || isComponent === true);
    return {
      ...account,
      present: look(presentFlow(control, account.name)),
      lease: look(leaseFlow(control, account.name)),
      isSpared: [...workloads, ...own.filter(isRunning)].some(({ skip }) => skip),
      isOperator: serviceAccountUser(metadata.namespace, account.name) === ownUser,
      ...(users && { runningPods: memory.note(account.name, own.filter(isRunning).length, nowMs) }),
      ...(signs.length > 0 && { isComponent: signs.includes(true) }),
    };
  };
  const wanted = accounts.length === 0 ? [] : wantedLevels(control, spec);
  return {
    ...{ mode, generation: requestNumberOf(object, "flowIsolation"), rates, ...control, ...found },
    accounts: accounts.map(factsOf),
    kept: wanted.map(level => look(pieceOf(level, control.levels))),
  };
}

async function served(kind: ClusterKind, readers: Readers): Promise<readonly ClusterObjectView[]> {
  const views = await readers.clusterObjects(kind);
  if (views !== null) return views;
  throw new TerminalError(`the API server does not serve ${kind} in ${FLOW_CONTROL}, which requires Kubernetes 1.29`);
}

/** Its holders ask the API server who their own clients are, as every aggregated API server does: throttled, they turn all of them away. */
const DELEGATOR = "system:auth-delegator";

/** Pods by their ServiceAccount, and the subjects of {@link DELEGATOR}. Undefined if that cannot be read, which must not keep a throttle from ending. */
async function usersIn(namespace: string, readers: Readers) {
  try {
    const pods = groupBy(await readers.pods(namespace), ({ serviceAccountName }) => serviceAccountName);
    const bindings = await readers.bindings("ClusterRoleBinding", namespace);
    return { pods, delegators: bindings.flatMap(one => (one.roleRef.name === DELEGATOR ? one.subjects : [])) };
  } catch (error) {
    if (error instanceof ResilienceError) return undefined;
    throw error;
  }
}

/** A pod whose init containers run is Pending. */
function isRunning({ phase, containers }: PodView): boolean {
  return phase === "Running" || containers.some(({ running }) => running);
}

/** A ServiceAccount, and the targets that run as it. */
interface Account {
  readonly name: string;
  readonly record?: FlowStatus;
  readonly workloads: readonly WorkloadView[];
}

interface Found extends Pick<FlowIsolationFacts, "leftOut" | "missingTargets" | "notUnderstood"> {
  readonly accounts: readonly Account[];
}

/** Of targets that this version does not know, or that cannot be read when a throttle is to end, only the flows in status are known. */
async function accountsOf(object: ObjectInMode, records: readonly FlowStatus[], readers: Readers): Promise<Found> {
  const unknown = unknownTargets(object.spec);
  if (unknown.length > 0) return recorded(records, explainUnknown(unknown));
  try {
    return await findAccounts(object, records, readers);
  } catch (error) {
    if (!isReadFailure(error) || !isAnyOver(records, readers)) throw error;
    return recorded(records, `the targets cannot be read: ${publicMessage(error)}.`);
  }
}

function recorded(records: readonly FlowStatus[], notUnderstood: string): Found {
  const accounts = records.map(record => ({ name: record.serviceAccount, record, workloads: [] }));
  return { accounts, leftOut: [], missingTargets: [], notUnderstood };
}

/** Neither a cache that is not filled yet, nor the rejection of the operator itself, which could not release anything. */
function isReadFailure(error: unknown): boolean {
  return error instanceof ResilienceError && !(error instanceof NotYetError) && !(error instanceof UnauthorizedError);
}

function isAnyOver(records: readonly FlowStatus[], { clock }: Pick<Readers, "clock">): boolean {
  const nowMs = clock.now().getTime();
  return records.some(({ state, until = "" }) => state === "Throttled" && !(Date.parse(until) > nowMs));
}

async function findAccounts(object: ObjectInMode, records: readonly FlowStatus[], readers: Readers): Promise<Found> {
  const { namespace } = object.metadata;
  const { views: all, missing: missingTargets } = await findTargets(object.spec.targets, { namespace, readers });
  const names = new Set(all.filter(({ skip }) => !skip).map(({ serviceAccountName }) => serviceAccountName));
  // The ServiceAccount of a missing target is unknown, so its flows are kept meanwhile. In Observe mode no throttle is ended, so each is told of.
  const known = new Set(all.map(({ serviceAccountName }) => serviceAccountName));
  for (const { serviceAccount, state } of records)
    if (state === "Throttled" && object.mode !== "Enforce") names.add(serviceAccount);
    else if (missingTargets.length > 0 && !known.has(serviceAccount)) names.add(serviceAccount);
  const byName = [...names].toSorted().map((name): Account => {
    const record = records.find(({ serviceAccount }) => serviceAccount === name);
    const workloads = all.filter(({ serviceAccountName }) => serviceAccountName === name);
    return { name, workloads, ...(record && { record }) };
  });
  // Isolated ones first, so that none loses its flow to another.
  const accounts = byName.toSorted((a, b) => Number(a.record === undefined) - Number(b.record === undefined));
  const leftOut = accounts.slice(MAX_ACCOUNTS).map(({ name }) => name);
  return { accounts: byName.filter(({ name }) => !leftOut.includes(name)), leftOut, missingTargets };
}

interface Sample {
  readonly ms: number;
  readonly pods: number;
}

/**
 * Running pods of each ServiceAccount, for as long back as its measured requests count, and since when its FlowSchemas are as they are. The
 * threshold follows the largest number: requests that more pods made are no flood of the fewer pods that are left, such as after a scale-down or
 * during a rollout. A new leader knows nothing, and has no measured requests either.
 */
export class FlowMemory {
  readonly #samples = new Map<string, readonly Sample[]>();
  /** By name, of objects that were once not right, nor missing. */
  readonly #looks = new Map<string, { readonly is: Piece["is"]; readonly sinceMs: number }>();

  /** Drops what is older than `fromMs`, or later than now since the clock was set back. */
  forget(fromMs: number, nowMs: number): void {
    for (const [account, samples] of this.#samples) {
      const recent = samples.filter(({ ms }) => ms >= fromMs && ms <= nowMs);
      if (recent.length === 0) this.#samples.delete(account);
      else this.#samples.set(account, recent);
    }
  }

  /** Adds a count, and returns the largest one that is not forgotten. */
  note(account: string, pods: number, nowMs: number): number {
    const larger = (this.#samples.get(account) ?? []).filter(sample => sample.pods > pods);
    const samples = [...larger, { ms: nowMs, pods }];
    this.#samples.set(account, samples);
    return Math.max(...samples.map(sample => sample.pods));
  }

  /** Adds how long this has lasted: always, if it was seen right or missing at the first look. */
  look(piece: Piece, nowMs: number): Piece {
    const { is, wanted } = piece;
    const before = this.#looks.get(wanted.name);
    if (before === undefined && (is === "right" || is === "missing")) return piece;
    const look = before?.is === is ? before : { is, sinceMs: nowMs };
    this.#looks.set(wanted.name, look);
    return { ...piece, forMs: nowMs - look.sinceMs };
  }
}
