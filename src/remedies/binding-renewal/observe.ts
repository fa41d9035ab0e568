import type {
  BindingRenewalSpec,
  BindingStatus,
  ControllerResilience,
  RenewalTargetStatus,
} from "../../api/controller-resilience";
import type { ObjectInMode } from "../../core/mode";
import type { Readers, Right } from "../../core/readers";
import { each, inSlices, type Steps } from "../../core/slices";
import type { BindingView } from "../../core/views";
import { describeTarget, readTarget } from "../kit/targets";
import { hashOfBlock } from "./block";
import { readExpiry } from "./conventions";
import type { Changed, GoneBinding, LivingBinding, ObservedBindings, Scope } from "./observed";
import { accountsOf, changedAccounts, pinTargets, type TargetWorkloads } from "./pins";
import { afterRenewal, bindingId, isBeforeExpiry, isFinal, isRecorded, isContested, timeOf } from "./record";
import { reviewed, withNamespace, type Reviewed } from "./review";
import { rightsFor } from "./rights";
import { markedOf, scheduleOf } from "./schedule";
import { bindsTarget, isInScope, isListed, refusalOf } from "./scope";
import { assignSlots, type SlotOptions } from "./slots";

/** What every step of one observation needs. */
interface Context {
  readonly spec: BindingRenewalSpec;
  /** Hash of the block. */
  readonly specHash: string;
  readonly scope: Scope;
  /** status.bindings by id. */
  readonly records: ReadonlyMap<string, BindingStatus>;
  readonly readers: Readers;
}

/** Bindings that the cache shows. */
interface Found {
  readonly living: readonly BindingView[];
  readonly absent: ObservedBindings["absent"];
}

/**
 * Reads the bindings, confirms live which ones of status are gone, and reviews the operator's rights.
 *
 * @throws any reader's error
 */
export async function observeBindings(
  object: ObjectInMode,
  spec: BindingRenewalSpec,
  readers: Readers,
): Promise<ObservedBindings> {
  const { namespace } = object.metadata;
  const specHash = hashOfBlock(spec);
  const { pins, ...targets } = namesBindings(spec) ? noTargets(object) : await readTargets(object, spec, readers);
  const scope = { namespace, ...targets };
  const records = new Map(object.status?.bindings?.map(record => [bindingId(record), record]));
  const context = { spec, specHash, scope, records, readers };
  const found = withoutFinal(await find(context), records);
  const changed = await withBound(targets.changed, context);
  const slots = await inSlices(readers.clock, assignSlots(found.living, slotOptions(context)));
  const rest = await readUnfound(found.living, context);
  const accountedFor = new Set([...rest.living, ...rest.gone.map(({ record }) => record)].map(bindingId));
  return {
    mode: object.mode,
    isAuthorChecked: isAuthorChecked(object),
    specHash,
    ...scope,
    changed,
    pins,
    living: await livingBindings([...slots.withSlot, ...rest.living], context),
    gone: rest.gone,
    withoutSlot: slots.withoutSlot,
    absent: found.absent.filter(one => !accountedFor.has(bindingId(one))),
    kept: [...rest.kept, ...slots.remembered],
  };
}

function namesBindings(spec: BindingRenewalSpec): boolean {
  return spec.bindings.length > 0;
}

interface Targets extends Omit<Scope, "namespace"> {
  readonly changed: readonly Changed[];
  readonly pins: readonly RenewalTargetStatus[] | undefined;
}

function noTargets({ status }: ControllerResilience): Targets {
  const pins = status?.renewalTargets === undefined ? undefined : [];
  return { serviceAccounts: [], pinned: [], missingTargets: [], changed: [], pins };
}

async function readTargets(object: ControllerResilience, spec: BindingRenewalSpec, readers: Readers): Promise<Targets> {
  const targets: TargetWorkloads[] = [];
  for (const target of object.spec.targets) {
    targets.push({ target, workloads: await readTarget(target, object.metadata.namespace, readers) });
  }
  const missingTargets = targets.flatMap(({ target, workloads }, index) =>
    workloads.length === 0 ? [describeTarget(target, index)] : [],
  );
  const present = accountsOf(targets.flatMap(({ workloads }) => workloads));
  // Observe mode needs no rights, so its author has not been checked. Enforce mode, which does, pins them again.
  if (!isAuthorChecked(object)) {
    return { ...noTargets(object), serviceAccounts: present, pinned: present, missingTargets };
  }
  const pins = pinTargets(targets, spec, object.status?.renewalTargets ?? [], readers.clock.now().getTime());
  const pinned = new Set(pins.flatMap(({ serviceAccounts }) => serviceAccounts));
  const changed = changedAccounts(targets, pinned);
  const serviceAccounts = present.filter(name => pinned.has(name));
  return { serviceAccounts, pinned: [...pinned], missingTargets, changed, pins };
}

/** The API server checks the rights of who sets Enforce mode, also where the operator itself only observes. */
function isAuthorChecked({ spec }: ControllerResilience): boolean {
  return spec.mode === "Enforce";
}

function find(context: Context): Promise<Found> {
  return namesBindings(context.spec) ? findListed(context) : findInScope(context);
}

async function findListed({ spec, scope, readers }: Context): Promise<Found> {
  const kinds = new Set(spec.bindings.map(({ kind }) => kind));
  const all: BindingView[] = [];
  for (const kind of kinds) all.push(...(await readers.bindings(kind, scope.namespace)));
  const living = all.filter(({ kind, name }) => isListed(spec, kind, name));
  const absent = spec.bindings.filter(
    ({ kind, name }) => !living.some(view => view.kind === kind && view.name === name),
  );
  return { living, absent };
}

/** Tells which of them matter: a binding of the ServiceAccount expires. */
async function withBound(changed: readonly Changed[], { scope, readers }: Context): Promise<readonly Changed[]> {
  if (changed.length === 0) return changed;
  const accounts = changed.map(({ serviceAccount }) => serviceAccount);
  const views = await inSlices(readers.clock, inScope(await allBindings(scope, readers), scope.namespace, accounts));
  const bound = new Set(views.flatMap(({ subjects }) => subjects.map(({ name }) => name)));
  return changed.map(one => ({ ...one, isBound: bound.has(one.serviceAccount) }));
}

async function allBindings({ namespace }: Scope, readers: Readers): Promise<BindingView[]> {
  return [
    ...(await readers.bindings("RoleBinding", namespace)),
    ...(await readers.bindings("ClusterRoleBinding", namespace)),
  ];
}

async function findInScope({ scope, readers }: Context): Promise<Found> {
  const all = await allBindings(scope, readers);
  return { living: await inSlices(readers.clock, inScope(all, scope.namespace, scope.pinned)), absent: [] };
}

function* inScope(
  all: readonly BindingView[],
  namespace: string,
  serviceAccounts: readonly string[],
): Steps<BindingView[]> {
  const found: BindingView[] = [];
  for (const view of all) {
    if (isInScope(view, namespace, serviceAccounts)) found.push(view);
    yield;
  }
  return found;
}

/** A binding that is gone for good never returns with the same uid: a cache that shows it is stale, so it is read live. */
function withoutFinal({ living, absent }: Found, records: Context["records"]): Found {
  const final = new Set([...records.values()].filter(isFinal).map(({ uid }) => uid));
  return { absent, living: living.filter(({ uid }) => !final.has(uid)) };
}

function slotOptions({ records, scope, spec }: Context): SlotOptions {
  // A target that is missing, or runs as another ServiceAccount for now, must not cost a binding its slot.
  const pinned = { namespace: scope.namespace, serviceAccounts: scope.pinned };
  return {
    records,
    recordOf: view => {
      const record = records.get(bindingId(view));
      return record !== undefined && describes(record, view) ? record : undefined;
    },
    isExcluded: view =>
      view.skip ||
      view.owner !== undefined ||
      refusalOf(view, pinned, isListed(spec, view.kind, view.name)) !== undefined,
  };
}

interface Unfound {
  readonly living: readonly BindingView[];
  readonly gone: readonly GoneBinding[];
  readonly kept: readonly BindingStatus[];
}

/** The bindings of status that the cache does not show. The cache may be stale, so each is read live. */
async function readUnfound(found: readonly BindingView[], context: Context): Promise<Unfound> {
  const { scope, records, spec } = context;
  const ids = new Set(found.map(bindingId));
  const unfound = [...records.values()].filter(record => !ids.has(bindingId(record)));
  // The ServiceAccounts of a missing target are unknown, so nothing is dropped from status until it returns.
  const keepsAll = !namesBindings(spec) && scope.missingTargets.length > 0;
  const recorded = unfound.filter(record => isRecorded(record) && (keepsAll || isStillInScope(record, context)));
  const reads: Unfound[] = [];
  for (const record of recorded) reads.push(await readRecorded(record, context));
  return {
    living: reads.flatMap(({ living }) => living),
    gone: reads.flatMap(({ gone }) => gone),
    kept: [...(keepsAll ? unfound.filter(record => !isRecorded(record)) : []), ...reads.flatMap(({ kept }) => kept)],
  };
}

const NONE: Unfound = { living: [], gone: [], kept: [] };

async function readRecorded(record: BindingStatus, context: Context): Promise<Unfound> {
  const { spec, scope, readers } = context;
  const isMeant = isStillInScope(record, context);
  const seenMs = readers.clock.now().getTime();
  const view = await readers.binding(record.kind, scope.namespace, record.name);
  if (view === null && (isMeant || staysGone(record, seenMs))) return { ...NONE, gone: [{ record, seenMs }] };
  if (view === null || !isMeant) return { ...NONE, kept: [record] };
  // Another client may have removed the expiry of an unlisted binding.
  return namesBindings(spec) || isInScope(view, scope.namespace, scope.pinned) ? { ...NONE, living: [view] } : NONE;
}

function isStillInScope(record: BindingStatus, { spec, scope }: Context): boolean {
  return namesBindings(spec)
    ? isListed(spec, record.kind, record.name)
    : bindsTarget(record, { namespace: scope.namespace, serviceAccounts: scope.pinned });
}

/** Adds record and missing rights. There may be hundreds of bindings, so this yields to the event loop and sends all requests together. */
async function livingBindings(cached: readonly BindingView[], context: Context): Promise<LivingBinding[]> {
  const { readers } = context;
  const suspects = await inSlices(
    readers.clock,
    each(cached, view => isSuspect(view, context)),
  );
  const views = await Promise.all(
    cached.map(async (view, i) => (suspects[i] === true ? readLive(view, readers) : view)),
  );
  const recorded = await inSlices(
    readers.clock,
    each(views, view => withRecord(view, context)),
  );
  const review = (needs: readonly Right[], view: BindingView): Promise<Reviewed> =>
    reviewed(needs, withNamespace(view), readers);
  return Promise.all(recorded.map(async ({ needs, ...one }) => ({ ...one, ...(await review(needs, one.view)) })));
}

interface Recorded extends Omit<LivingBinding, "lacks" | "excess"> {
  /** Rights that its renewal needs. */
  readonly needs: readonly Right[];
}

function withRecord(view: BindingView, context: Context): Recorded {
  const record = recordOf(view, context);
  const marked = markedOf(view);
  const schedule = scheduleOf(marked, readExpiry(marked), context.spec, record);
  const isWarned = schedule !== undefined && context.readers.clock.now().getTime() >= schedule.warnAtMs;
  const needs = isWarned ? rightsFor(withNamespace(view)) : [];
  return { view, ...(record === undefined ? {} : { record }), needs };
}

/** If the operator stopped between a renewal and its status, the binding has the expiry that status planned: it was renewed. */
function recordOf(view: BindingView, { records, readers, specHash }: Context): BindingStatus | undefined {
  const record = records.get(bindingId(view));
  if (record === undefined || !describes(record, view)) return undefined;
  const { renewingUntil } = record;
  if (renewingUntil === undefined || !expiresAsPlanned(record, view)) return record;
  return afterRenewal(record, { expiryTime: renewingUntil, specHash }, readers.clock.now());
}

/**
 * Reports whether the entry describes this binding and not a predecessor of the same name. A restored binding has no uid in status until
 * it is read, or still the old one if the operator stopped; then it has the expiry that status planned.
 */
function describes(record: BindingStatus, view: BindingView): boolean {
  return record.uid === undefined || record.uid === view.uid || expiresAsPlanned(record, view);
}

function expiresAsPlanned({ renewingUntil }: BindingStatus, view: BindingView): boolean {
  const { earliest } = readExpiry(markedOf(view));
  return earliest !== undefined && timeOf(earliest.atMs) === renewingUntil;
}

/** A stale cache shows a renewed binding with its old expiry, so the binding is read live before its expiry counts as shortened. */
function isSuspect(cached: BindingView, context: Context): boolean {
  const { earliest } = readExpiry(markedOf(cached));
  if (earliest === undefined) return false;
  return isContested(recordOf(cached, context), { uid: cached.uid, expiryMs: earliest.atMs }, context.specHash);
}

async function readLive(cached: BindingView, readers: Readers): Promise<BindingView> {
  return (await readers.binding(cached.kind, cached.namespace, cached.name)) ?? cached;
}

function staysGone(record: BindingStatus, seenMs: number): boolean {
  return isFinal(record) || isBeforeExpiry(record, seenMs);
}
