import type { ControllerResilience, FlowStatus } from "../../api/controller-resilience";
import { parseDuration } from "../../core/time";
import { NotYetError, publicMessage, ResilienceError, TerminalError, UnauthorizedError } from "../../core/errors";
import { type ObjectInMode, explainUnknown, unknownTargets } from "../../core/remedy";
import type { Readers } from "../../core/readers";
import { serviceAccountUser } from "../../core/text";
import type { ClusterKind, ClusterObjectView, WorkloadView } from "../../core/views";
import { findTargets, requestNumberOf } from "../kit/targets";
import { type AccountFacts, type FlowIsolationFacts, MAX_ACCOUNTS, measuredEvery, type Spec, throttles } from "./facts";
import { FLOW_CONTROL, pieceOf, presentFlow, wantedLeaseFlow } from "./objects";
import { MAX_OLDEST_MS } from "./rate";

/**
 * Reads the ServiceAccounts of the targets, the FlowSchemas and levels of the cluster, and the request rates.
 *
 * @throws the readers' errors
 */
export async function observeFlows(
  object: ObjectInMode,
  spec: Spec,
  readers: Readers,
  memory = new FlowMemory(),
): Promise<FlowIsolationFacts> {
  const records = object.status?.flows ?? [];
  // First, since it takes longest: the objects to compare must be fresh.
  const watched = object.mode === "Enforce" && throttles(spec) ? records.map(({ state }) => state) : [];
  const rates = await readers.requestRates(measuredEvery(watched), countedMs(spec));
  const found = await accountsOf(object, records, readers);
  const counts = await countPods(object.metadata.namespace, readers);
  const nowMs = readers.clock.now().getTime();
  memory.forget(nowMs - countedMs(spec), nowMs);
  const ownUser = await readers.ownUser();
  const withPods = (account: AccountFacts): AccountFacts => {
    if (counts === undefined) return account;
    const { running = 0, ...pods } = counts.get(account.name) ?? {};
    const runningPods = memory.note(account.name, running, nowMs);
    return { ...account, ...(account.isComponent === true ? {} : pods), runningPods };
  };
  const facts = {
    mode: object.mode,
    generation: requestNumberOf(object, "flowIsolation"),
    owner: { metadata: object.metadata },
    ...found,
    accounts: found.accounts.map(withPods).map(account => marked(account, object, ownUser)),
    schemas: await served("FlowSchema", readers),
    levels: await served("PriorityLevelConfiguration", readers),
    rates,
  };
  return { ...facts, ...memory.look(facts, readers.clock.monotonicMs()) };
}

async function served(kind: ClusterKind, readers: Readers): Promise<readonly ClusterObjectView[]> {
  const views = await readers.clusterObjects(kind);
  if (views !== null) return views;
  throw new TerminalError(`the API server does not serve ${kind} in ${FLOW_CONTROL}, which requires Kubernetes 1.29`);
}

function marked(account: AccountFacts, { metadata }: ControllerResilience, ownUser: string | undefined): AccountFacts {
  const user = serviceAccountUser(metadata.namespace, account.name);
  return user === ownUser ? { ...account, isOperator: true } : account;
}

/** The pods of a ServiceAccount. */
interface PodsOf {
  readonly running: number;
  /** One of them is a component of the cluster. */
  readonly isComponent: boolean;
}

/** By ServiceAccount. Undefined if the pods cannot be read, which must not keep a throttle from ending. */
async function countPods(namespace: string, readers: Readers): Promise<ReadonlyMap<string, PodsOf> | undefined> {
  const counts = new Map<string, PodsOf>();
  try {
    for (const { serviceAccountName, phase, containers, isComponent = false } of await readers.pods(namespace)) {
      const before = counts.get(serviceAccountName) ?? { running: 0, isComponent: false };
      // A pod whose init containers run is Pending.
      const running = before.running + Number(phase === "Running" || containers.some(one => one.running));
      counts.set(serviceAccountName, { running, isComponent: before.isComponent || isComponent });
    }
  } catch (error) {
    if (error instanceof ResilienceError) return undefined;
    throw error;
  }
  return counts;
}

type Found = Pick<FlowIsolationFacts, "accounts" | "leftOut" | "missingTargets" | "notUnderstood">;

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
  const accounts = records.map(record => ({ name: record.serviceAccount, record }));
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
  const byName = [...names].toSorted().map(name => accountOf(name, all, records));
  // Isolated ones first, so that none loses its flow to another.
  const accounts = byName.toSorted((a, b) => Number(a.record === undefined) - Number(b.record === undefined));
  const leftOut = accounts.slice(MAX_ACCOUNTS).map(({ name }) => name);
  const isolated = byName.filter(({ name }) => !leftOut.includes(name));
  return { accounts: isolated, leftOut, missingTargets };
}

function accountOf(name: string, all: readonly WorkloadView[], records: readonly FlowStatus[]): AccountFacts {
  const record = records.find(({ serviceAccount }) => serviceAccount === name);
  const workloads = all.filter(({ serviceAccountName }) => serviceAccountName === name);
  const isComponent = workloads.some(one => one.isComponent === true);
  return { name, ...(workloads.length === 0 ? {} : { isComponent }), ...(record === undefined ? {} : { record }) };
}

interface Sample {
  readonly ms: number;
  readonly pods: number;
}

/**
 * Running pods of each ServiceAccount, for as long back as its measured requests count, and since when its FlowSchemas count them. The threshold
 * follows the largest number: requests that more pods made are no flood of the fewer pods that are left, such as after a scale-down or during a
 * rollout. A new leader knows nothing, and has no measured requests either.
 */
export class FlowMemory {
  readonly #samples = new Map<string, readonly Sample[]>();
  /** When a FlowSchema that was not as wanted was first seen without fault again, by name: Infinity before. One that is missing counts nothing. */
  readonly #rightMs = new Map<string, number>();
  #firstMs: number | undefined;

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

  /** Notes which FlowSchemas are as wanted. */
  look(
    { accounts, ...facts }: FlowIsolationFacts,
    nowMs: number,
  ): Pick<FlowIsolationFacts, "rightForMs" | "knownForMs"> {
    const pieces = accounts.flatMap(({ name }) => [
      presentFlow(facts, name),
      pieceOf(wantedLeaseFlow(facts, name), facts.schemas),
    ]);
    for (const { is, wanted } of pieces)
      if (is !== "right" && is !== "missing") this.#rightMs.set(wanted.name, Infinity);
      else if (this.#rightMs.get(wanted.name) === Infinity) this.#rightMs.set(wanted.name, nowMs);
    this.#firstMs ??= nowMs;
    const rightForMs = new Map(Array.from(this.#rightMs, ([name, ms]) => [name, nowMs - ms]));
    return { rightForMs, knownForMs: nowMs - this.#firstMs };
  }
}

/** How long back requests count, in milliseconds: `for`, with the spans at both ends. */
export function countedMs({ requestRate }: Spec): number {
  return parseDuration(requestRate.for) + 2 * MAX_OLDEST_MS;
}
