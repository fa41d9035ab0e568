import { KINDS } from "../../core/kinds";
import type { ControllerResilience, FlowStatus } from "../../api/controller-resilience";
import { NotYetError, publicMessage, ResilienceError, UnauthorizedError } from "../../core/errors";
import { FINALIZER } from "../../api/names";
import { ownerName } from "../../core/owned";
import type { ObjectInMode } from "../../core/mode";
import type { Readers } from "../../core/readers";
import { describeTarget, readTarget } from "../kit/targets";
import type { WorkloadView } from "../../core/views";
import { serviceAccountUser } from "../../core/service-account-user";
import { explainUnknown, unknownTargets } from "../../core/unknown-values";
import {
  MAX_ACCOUNTS,
  measuredEvery,
  type AccountFacts,
  type FlowIsolationFacts,
  type Owner,
  type Spec,
} from "./facts";
import { countedMs, PodPeaks } from "./pod-peaks";

/** Kinds that can be scaled to zero. */
const SCALABLE = ["Deployment", "StatefulSet"] as const;

/**
 * Reads the ServiceAccounts of the targets, the FlowSchemas and levels of the cluster, and the request rates.
 *
 * @throws the readers' errors
 */
export async function observeFlows(
  object: ObjectInMode,
  spec: Spec,
  readers: Readers,
  peaks = new PodPeaks(),
): Promise<FlowIsolationFacts> {
  const records = object.status?.flows ?? [];
  // First, since it takes longest: the objects to compare must be fresh.
  const rates = await readers.requestRates(
    measuredEvery(records, { mode: object.mode, spec }, readers.clock.now().getTime()),
  );
  const found = await accountsOf(object, records, readers);
  const names = new Set(found.accounts.map(({ name }) => name));
  const counts = await countPods(object.metadata.namespace, readers);
  const nowMs = readers.clock.now().getTime();
  peaks.forgetOthers(names, nowMs, countedMs(spec));
  const ownUser = await readers.ownUser();
  const withPods = (account: AccountFacts): AccountFacts => {
    if (counts === undefined) return account;
    const pods = counts.get(account.name) ?? 0;
    return { ...account, runningPods: peaks.note(account.name, pods, nowMs, countedMs(spec)) };
  };
  const scales = spec.requestRate.onRunaway === "ScaleToZero";
  return {
    mode: object.mode,
    generation: object.metadata.generation,
    owner: { metadata: object.metadata },
    ...found,
    accounts: found.accounts.map(withPods).map(account => marked(account, object, ownUser)),
    schemas: await readers.clusterObjects("FlowSchema"),
    levels: await readers.clusterObjects("PriorityLevelConfiguration"),
    rates,
    mayScale: scales && (await mayScale(object.metadata.namespace, readers)),
    // Scaling happens only under the finalizer; the record in status may be lost.
    scaledDown: scales || isHeld(object) ? await scaledDownIn(object, found, readers) : [],
    former: records.filter(({ serviceAccount }) => !names.has(serviceAccount)),
  };
}

function marked(account: AccountFacts, { metadata }: ControllerResilience, ownUser: string | undefined): AccountFacts {
  const user = serviceAccountUser(metadata.namespace, account.name);
  return user === ownUser ? { ...account, isOperator: true } : account;
}

/** By ServiceAccount. Undefined if the pods cannot be read, which must not keep a throttle from ending. */
async function countPods(namespace: string, readers: Readers): Promise<ReadonlyMap<string, number> | undefined> {
  const counts = new Map<string, number>();
  try {
    for (const { serviceAccountName, phase } of await readers.pods(namespace))
      if (phase === "Running") counts.set(serviceAccountName, (counts.get(serviceAccountName) ?? 0) + 1);
  } catch (error) {
    if (error instanceof ResilienceError) return undefined;
    throw error;
  }
  return counts;
}

function isHeld({ metadata }: ControllerResilience): boolean {
  return metadata.finalizers?.includes(FINALIZER) ?? false;
}

type Found = Pick<FlowIsolationFacts, "accounts" | "leftOut" | "missingTargets" | "notUnderstood">;

/** Of targets that this version does not know, or that cannot be read when a throttle is to end, only the flows in status are known. */
async function accountsOf(
  object: ControllerResilience,
  records: readonly FlowStatus[],
  readers: Readers,
): Promise<Found> {
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
  const accounts = records.map(record => accountOf(record.serviceAccount, [], records));
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

async function findAccounts(
  object: ControllerResilience,
  records: readonly FlowStatus[],
  readers: Readers,
): Promise<Found> {
  const workloads = new Map<string, WorkloadView>();
  const missingTargets: string[] = [];
  for (const [index, target] of object.spec.targets.entries()) {
    const views = await readTarget(target, object.metadata.namespace, readers);
    for (const view of views) workloads.set(view.uid, view);
    if (views.length === 0) missingTargets.push(describeTarget(target, index));
  }
  const all = [...workloads.values()];
  const names = new Set(all.filter(({ skip }) => !skip).map(({ serviceAccountName }) => serviceAccountName));
  // The ServiceAccount of a missing target is unknown, so its flows are kept meanwhile.
  const known = new Set(all.map(({ serviceAccountName }) => serviceAccountName));
  const kept = missingTargets.length === 0 ? [] : records.filter(({ serviceAccount }) => !known.has(serviceAccount));
  for (const { serviceAccount } of kept) names.add(serviceAccount);
  const accounts = [...names].map(name => accountOf(name, all, records)).toSorted(comesFirst);
  const leftOut = accounts.slice(MAX_ACCOUNTS).map(({ name }) => name);
  // The age decides which ones are isolated, not their order in status.
  const isolated = accounts.slice(0, MAX_ACCOUNTS).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { accounts: isolated, leftOut, missingTargets };
}

/** Isolated ones first, so that none loses its flow to another; then the oldest. */
function comesFirst(a: AccountFacts, b: AccountFacts): number {
  const ages = [ageOf(a), ageOf(b)] as const;
  return (
    Number(a.record === undefined) - Number(b.record === undefined) ||
    Math.sign(ages[0] - ages[1]) ||
    (a.name < b.name ? -1 : 1)
  );
}

function ageOf({ workloads }: AccountFacts): number {
  return Math.min(Number.MAX_SAFE_INTEGER, ...workloads.map(({ createdAtMs = 0 }) => createdAtMs));
}

function accountOf(name: string, all: readonly WorkloadView[], records: readonly FlowStatus[]): AccountFacts {
  const record = records.find(({ serviceAccount }) => serviceAccount === name);
  const workloads = all.filter(({ skip, serviceAccountName }) => !skip && serviceAccountName === name);
  return { name, workloads, ...(record === undefined ? {} : { record }) };
}

async function mayScale(namespace: string, readers: Readers): Promise<boolean> {
  const rights = SCALABLE.map(kind => ({
    apiGroup: "apps",
    resource: KINDS[kind].plural,
    verb: "patch",
    namespace,
  }));
  const answers = await Promise.all(rights.map(right => readers.may(right)));
  return answers.every(Boolean);
}

/** What cannot be read now is scaled back later. */
async function scaledDownIn(owner: Owner, { notUnderstood }: Found, readers: Readers): Promise<WorkloadView[]> {
  try {
    return await readScaledDown(owner, readers);
  } catch (error) {
    if (notUnderstood === undefined || !isReadFailure(error)) throw error;
    return [];
  }
}

/**
 * Workloads of the namespace that were scaled to zero for this object, also those that are no targets any more.
 *
 * @throws the reader's errors
 */
export async function readScaledDown(owner: Owner, readers: Readers): Promise<WorkloadView[]> {
  const all: WorkloadView[] = [];
  for (const kind of SCALABLE) all.push(...(await readers.workloads(kind, owner.metadata.namespace)));
  return all.filter(({ scaledDown }) => scaledDown?.owner === ownerName(owner));
}
