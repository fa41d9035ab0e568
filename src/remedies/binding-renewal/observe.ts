import type { BindingStatus, ControllerResilience } from "../../api/controller-resilience";
import type { Readers, Right } from "../../core/readers";
import { describeTarget, readTarget } from "../kit/targets";
import { each, inSlices, type Steps } from "../../core/slices";
import type { BindingView } from "../../core/views";
import { renewed, timeOf } from "./build";
import { readExpiry } from "./conventions";
import {
  bindingId,
  isFinal,
  isPutBack,
  isRecorded,
  wentEarly,
  type BindingRenewalFacts,
  type GoneBinding,
  type LivingBinding,
  type Spec,
} from "./facts";
import { rightsFor } from "./rights";
import { place, type Places } from "./room";
import { markedOf, scheduleOf } from "./schedule";
import { concernsTargets, isFound, isListed, refusalOf } from "./scope";

/** What the search for bindings comes to. */
interface Search {
  readonly living: readonly BindingView[];
  readonly absent: BindingRenewalFacts["absent"];
}

/** Whose ServiceAccounts are looked for. */
type Targets = Pick<BindingRenewalFacts, "serviceAccounts" | "missingTargets">;

/**
 * Everything that a decision needs: the bindings, what became of those that status tells of, and the rights that are missing.
 *
 * @throws whatever a reader throws
 */
export async function observeBindings(
  object: ControllerResilience,
  spec: Spec,
  from: Readers,
): Promise<BindingRenewalFacts> {
  const { namespace, generation } = object.metadata;
  const isListing = spec.bindings.length > 0;
  const scope = { namespace, ...(isListing ? NO_TARGETS : await readTargets(object, from)) };
  const records = object.status?.bindings ?? [];
  const byId = new Map(records.map(record => [bindingId(record), record]));
  const all = withoutFinal(isListing ? await readListed(spec, namespace, from) : await find(scope, from), records);
  const { placed, remembered, unplaced } = await inSlices(
    from.clock,
    place(all.living, placesOf(byId, { spec, scope })),
  );
  const rest = await readUnfound(records, all.living, { spec, scope, from });
  const living = [...placed, ...rest.living];
  const by = { records: byId, spec, from, generation };
  const accountedFor = new Set([...rest.living, ...rest.gone.map(({ record }) => record)].map(bindingId));
  return {
    mode: object.spec.mode,
    generation,
    ...scope,
    living: await livingBindings(living, by),
    gone: await Promise.all(rest.gone.map(gone => withRights(gone, from))),
    unplaced,
    absent: all.absent.filter(one => !accountedFor.has(bindingId(one))),
    kept: [...rest.kept, ...remembered],
  };
}

/** Whose record fits in status, and whose need not. */
function placesOf(records: Places["records"], { spec, scope }: Pick<Reading, "spec" | "scope">): Places {
  return {
    records,
    recordOf: view => {
      const record = records.get(bindingId(view));
      return record !== undefined && isOf(record, view) ? record : undefined;
    },
    isExcluded: view =>
      view.skip ||
      view.owner !== undefined ||
      refusalOf(view, scope, isListed(spec, view.kind, view.name)) !== undefined,
  };
}

const NO_TARGETS: Targets = { serviceAccounts: [], missingTargets: [] };

async function readTargets(object: ControllerResilience, from: Readers): Promise<Targets> {
  const accounts = new Set<string>();
  const missingTargets: string[] = [];
  for (const [index, target] of object.spec.targets.entries()) {
    const workloads = await readTarget(target, object.metadata.namespace, from);
    if (workloads.length === 0) missingTargets.push(describeTarget(target, index));
    for (const { serviceAccountName } of workloads) accounts.add(serviceAccountName);
  }
  return { serviceAccounts: [...accounts], missingTargets };
}

async function readListed(spec: Spec, namespace: string, from: Readers): Promise<Search> {
  const kinds = new Set(spec.bindings.map(({ kind }) => kind));
  const all: BindingView[] = [];
  for (const kind of kinds) all.push(...(await from.bindings(kind, namespace)));
  const living = all.filter(({ kind, name }) => isListed(spec, kind, name));
  const missing = spec.bindings.filter(
    ({ kind, name }) => !living.some(view => view.kind === kind && view.name === name),
  );
  return { living, absent: missing };
}

async function find(scope: Targets & { readonly namespace: string }, from: Readers): Promise<Search> {
  const { namespace } = scope;
  const all = [
    ...(await from.bindings("RoleBinding", namespace)),
    ...(await from.bindings("ClusterRoleBinding", namespace)),
  ];
  return { living: await inSlices(from.clock, foundAmong(all, scope)), absent: [] };
}

function* foundAmong(all: readonly BindingView[], scope: Parameters<typeof isFound>[1]): Steps<BindingView[]> {
  const found: BindingView[] = [];
  for (const view of all) {
    if (isFound(view, scope)) found.push(view);
    yield;
  }
  return found;
}

/** What is gone for good never comes back with the same uid: a watch that shows it is behind, and so it is read live. */
function withoutFinal({ living, absent }: Search, records: readonly BindingStatus[]): Search {
  const final = new Set(records.filter(isFinal).map(({ uid }) => uid));
  return { absent, living: living.filter(({ uid }) => !final.has(uid)) };
}

interface Unfound {
  readonly living: readonly BindingView[];
  readonly gone: readonly Omit<GoneBinding, "lacks">[];
  readonly kept: readonly BindingStatus[];
}

interface Reading {
  readonly spec: Spec;
  readonly scope: Targets & { readonly namespace: string };
  readonly from: Readers;
}

/** What became of bindings that status tells of and the search has not found. A cache may be behind, so each is read live. */
async function readUnfound(
  records: readonly BindingStatus[],
  found: readonly BindingView[],
  by: Reading,
): Promise<Unfound> {
  const ids = new Set(found.map(bindingId));
  const living: BindingView[] = [];
  const gone: Omit<GoneBinding, "lacks">[] = [];
  const kept: BindingStatus[] = [];
  // Of a target that is missing for now nobody knows what it runs as, so nothing is forgotten meanwhile.
  const isWaiting = by.spec.bindings.length === 0 && by.scope.missingTargets.length > 0;
  const unfound = records.filter(one => !ids.has(bindingId(one)));
  if (isWaiting) kept.push(...unfound.filter(one => !isRecorded(one)));
  for (const record of unfound.filter(one => isRecorded(one) && (isWaiting || isStillMeant(one, by)))) {
    const isMeant = isStillMeant(record, by);
    const seenMs = by.from.clock.now().getTime();
    const view = await by.from.binding(record.kind, by.scope.namespace, record.name);
    if (view === null && (isMeant || staysAway(record, seenMs))) gone.push({ record, seenMs });
    else if (view !== null && isMeant) living.push(...meant(view, by));
    else kept.push(record);
  }
  return { living, gone, kept };
}

/** What was found by itself has to be what is looked for still: somebody may have taken its expiry away. */
function meant(view: BindingView, { spec, scope }: Reading): BindingView[] {
  return spec.bindings.length > 0 || isFound(view, scope) ? [view] : [];
}

function isStillMeant(record: BindingStatus, { spec, scope }: Reading): boolean {
  return spec.bindings.length > 0 ? isListed(spec, record.kind, record.name) : concernsTargets(record, scope);
}

interface Knowledge {
  readonly records: Places["records"];
  readonly spec: Spec;
  readonly from: Readers;
  readonly generation: number;
}

/** There may be hundreds: they are looked at in turns, and what there is to ask is asked at once. */
async function livingBindings(cached: readonly BindingView[], by: Knowledge): Promise<LivingBinding[]> {
  const { clock } = by.from;
  const suspects = new Set(
    await inSlices(
      clock,
      each(cached, view => (isSuspect(view, by) ? view : undefined)),
    ),
  );
  const views = await Promise.all(cached.map(async view => (suspects.has(view) ? readLive(view, by.from) : view)));
  const looked = await inSlices(
    clock,
    each(views, view => lookAt(view, by)),
  );
  return Promise.all(looked.map(async ({ needs, ...one }) => ({ ...one, lacks: await missing(needs, by.from) })));
}

/** With the rights that its renewal takes. */
function lookAt(view: BindingView, by: Knowledge): Omit<LivingBinding, "lacks"> & { readonly needs: readonly Right[] } {
  const record = recordOf(view, by);
  const marked = markedOf(view);
  const schedule = scheduleOf(marked, readExpiry(marked), by.spec, record);
  const matters = schedule !== undefined && by.from.clock.now().getTime() >= schedule.warnAtMs;
  const needs = matters ? rightsFor(placed(view), "patch") : [];
  return { view, ...(record === undefined ? {} : { record }), needs };
}

function recordOf(view: BindingView, by: Knowledge): BindingStatus | undefined {
  const record = by.records.get(bindingId(view));
  return record !== undefined && isOf(record, view) ? settled(record, view, by) : undefined;
}

/** An operator that died between a renewal and its note has left it written down: what expires just then was renewed. */
function settled(record: BindingStatus, view: BindingView, { from, generation }: Knowledge): BindingStatus {
  const { renewingUntil } = record;
  if (renewingUntil === undefined || !isAsPlanned(record, view)) return record;
  return renewed(record, { expiryTime: renewingUntil, generation }, from.clock.now());
}

function isAsPlanned({ renewingUntil }: BindingStatus, view: BindingView): boolean {
  const { earliest } = readExpiry(markedOf(view));
  return earliest !== undefined && timeOf(earliest.atMs) === renewingUntil;
}

/** A watch that is behind shows a renewed binding as it was: before somebody is accused of putting it back, it is read live. */
function isSuspect(cached: BindingView, by: Knowledge): boolean {
  const { earliest } = readExpiry(markedOf(cached));
  return isPutBack(recordOf(cached, by), earliest?.atMs ?? Infinity, by.generation);
}

async function readLive(cached: BindingView, from: Readers): Promise<BindingView> {
  return (await from.binding(cached.kind, cached.namespace, cached.name)) ?? cached;
}

/**
 * A record without a uid is of one that was restored and not seen since, and so is one that tells of just the end that was planned. One of a predecessor
 * says nothing of its successor.
 */
function isOf(record: BindingStatus, view: BindingView): boolean {
  return record.uid === undefined || record.uid === view.uid || isAsPlanned(record, view);
}

async function withRights({ record, seenMs }: Omit<GoneBinding, "lacks">, from: Readers): Promise<GoneBinding> {
  const lacks = staysAway(record, seenMs) ? [] : await missing(rightsFor(record, "create"), from);
  return { record, seenMs, lacks };
}

function staysAway(record: BindingStatus, seenMs: number): boolean {
  return isFinal(record) || wentEarly(record, seenMs);
}

function placed({ kind, namespace, name, roleRef }: BindingView): Parameters<typeof rightsFor>[0] {
  return { kind, name, roleRef, ...(namespace === "" ? {} : { namespace }) };
}

async function missing(rights: readonly Right[], from: Readers): Promise<Right[]> {
  const answers = await Promise.all(rights.map(right => from.may(right)));
  return rights.filter((_, i) => answers[i] !== true);
}
