import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { LATEST_EXPIRY_ANNOTATION, RENEW_ANNOTATION } from "../../api/names";
import type { Mode, ObjectInMode } from "../../core/remedy";
import type { Readers } from "../../core/readers";
import { each, inSlices } from "../../core/slices";
import { accountsOf, type BindingKind, type BindingView } from "../../core/views";
import { findTargets } from "../kit/targets";
import { type Expiry, readExpiry } from "./conventions";
import { reviewed, type Review } from "./rights";
import { type Memory, memoryOf, noteOf, type Schedule, scheduleOf } from "./schedule";

/** Bindings that one object handles, so that status has room for them; renewals of more would be lost in messages, too. */
const MAX_BINDINGS = 400;

/** The input of a plan. */
export interface ObservedBindings {
  readonly mode: Mode;
  /** {@link Readers.latestMs} of the beginning. */
  readonly latestMs: number;
  /** The bindings that the spec names, and those with an expiry and a ServiceAccount of the targets as a subject. */
  readonly living: readonly LivingBinding[];
  /** Entries of status whose binding does not exist any more. */
  readonly gone: readonly BindingStatus[];
  /** Entries of status that this pass does not change: a target is missing, or the cache is behind. */
  readonly kept: readonly BindingStatus[];
  /** Named bindings that do not exist and never did. */
  readonly absent: readonly { readonly kind: BindingKind; readonly name: string }[];
  /** Targets without a workload: their ServiceAccounts are unknown. */
  readonly missingTargets: readonly string[];
  /** Bindings beyond {@link MAX_BINDINGS}. */
  readonly omitted: number;
}

/** A binding that exists. */
export interface LivingBinding {
  readonly view: BindingView;
  /** The spec names it. */
  readonly listed: boolean;
  /** The spec names it, or it has the annotation: the two ways to ask for its renewal. */
  readonly requested: boolean;
  /** Its entry in status; absent if that describes a predecessor of the same name, unless this is a copy of that. */
  readonly record?: BindingStatus;
  readonly expiry: Expiry;
  readonly memory: Memory;
  /** Absent if the binding does not expire. */
  readonly schedule?: Schedule;
  /** Absent while nothing needs a write. */
  readonly review?: Review;
}

/** `RoleBinding/edit`: identifies a binding in status, in the cluster and in a plan. */
export function bindingId({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind}/${name}`;
}

/** Reports whether the entry is of a binding that is gone. */
export function isFinal({ state }: Pick<BindingStatus, "state">): boolean {
  return state === "Revoked" || state === "Expired";
}

interface Context {
  readonly namespace: string;
  readonly spec: BindingRenewalSpec;
  readonly mode: Mode;
  readonly latestMs: number;
  /** ServiceAccounts that the targets run as, as `namespace/name`, and their group, as `namespace/`. */
  readonly accounts: ReadonlySet<string>;
  readonly missingTargets: readonly string[];
  /** status.bindings by id. */
  readonly records: ReadonlyMap<string, BindingStatus>;
  readonly readers: Readers;
}

/**
 * Reads the targets and the bindings, confirms live which ones of status are gone, and reviews the rights that writes need.
 *
 * @throws any reader's error
 */
export async function observeBindings(
  object: ObjectInMode,
  spec: BindingRenewalSpec,
  readers: Readers,
): Promise<ObservedBindings> {
  const { namespace } = object.metadata;
  const records = new Map(object.status?.bindings?.map(record => [bindingId(record), record]));
  const { views, missing } = await findTargets(object.spec.targets, { namespace, readers });
  const accounts = new Set(views.flatMap(view => [`${namespace}/${view.serviceAccountName}`, `${namespace}/`]));
  const latestMs = readers.latestMs();
  const context = { namespace, spec, mode: object.mode, latestMs, records, readers, accounts, missingTargets: missing };
  const all = [
    ...(await readers.bindings("RoleBinding", namespace)),
    ...(await readers.bindings("ClusterRoleBinding", namespace)),
  ];
  const near = all.filter(view => isListed(spec, view) || bindsTarget(view, context));
  const read = await inSlices(
    readers.clock,
    each(near, view => candidateOf(view, context)),
  );
  const candidates = read.filter(({ listed, expiry }) => listed || expiry.isMarked).toSorted(byUrgency);
  const found = await livingOf(candidates.slice(0, MAX_BINDINGS), context);
  const rest = await unfound(all, found, context);
  const known = new Set([...found.living.map(({ view }) => view), ...rest.gone, ...rest.kept].map(bindingId));
  return {
    mode: object.mode,
    latestMs,
    living: found.living,
    ...rest,
    absent: spec.bindings.filter(binding => !known.has(bindingId(binding))),
    missingTargets: missing,
    omitted: Math.max(0, candidates.length - MAX_BINDINGS),
  };
}

type Candidate = Omit<LivingBinding, "review">;

function candidateOf(view: BindingView, { spec, records }: Context): Candidate {
  const listed = isListed(spec, view);
  const requested = listed || view.annotations[RENEW_ANNOTATION] === "true";
  const known = records.get(bindingId(view));
  const record = known?.uid === view.uid || isCopy(view, known) ? known : undefined;
  const [expiry, memory] = [readExpiry(view), memoryOf(view, record)];
  const schedule = expiry.earliest && scheduleOf(view, expiry.earliest, { spec, listed, memory });
  return { view, listed, requested, ...(record && { record }), expiry, memory, ...(schedule && { schedule }) };
}

/** A backup has brought back what a person had deleted, with what the operator noted on it. */
function isCopy({ annotations }: BindingView, record: BindingStatus | undefined): boolean {
  const noted = annotations[LATEST_EXPIRY_ANNOTATION];
  return record?.state === "Revoked" && noted !== undefined && noted === record.latestExpiryTime;
}

/** First those whose renewal is requested, each group by expiry. */
function byUrgency(a: Candidate, b: Candidate): number {
  const rank = ({ requested, view }: Candidate): number => Number(!requested) + Number(view.skip);
  const [first, second] = [a.schedule?.atMs ?? Infinity, b.schedule?.atMs ?? Infinity];
  return rank(a) - rank(b) || (first < second ? -1 : Number(first > second));
}

/** Reports whether the spec names the binding. */
export function isListed(spec: BindingRenewalSpec, { kind, name }: { kind: string; name: string }): boolean {
  return spec.bindings.some(binding => binding.kind === kind && binding.name === name);
}

function bindsTarget({ subjects }: BindingView, { accounts }: Context): boolean {
  return subjects.some(subject => accounts.has(accountsOf(subject) ?? ""));
}

interface Living {
  readonly living: readonly LivingBinding[];
  /** Ids of bindings that the cache still shows, but a live read did not find. */
  readonly vanished: ReadonlySet<string>;
}

/** There may be hundreds, so all requests are sent together. */
async function livingOf(candidates: readonly Candidate[], context: Context): Promise<Living> {
  const { readers } = context;
  const found = await Promise.all(
    candidates.map(async (candidate): Promise<LivingBinding | null> => {
      const { kind, namespace, name } = candidate.view;
      const view = isSuspect(candidate) ? await readers.binding(kind, namespace, name) : candidate.view;
      if (view === null) return null;
      const living = view === candidate.view ? candidate : candidateOf(view, context);
      return isToWrite(living, context) ? { ...living, review: await reviewed(view, readers) } : living;
    }),
  );
  const vanished = candidates.filter((_, i) => found[i] === null).map(({ view }) => bindingId(view));
  return { living: found.filter(living => living !== null), vanished: new Set(vanished) };
}

/** A stale cache shows a renewed binding with its old expiry, and a revoked binding: both are read live before they count. */
function isSuspect({ record, schedule }: Candidate): boolean {
  return record?.state === "Revoked" || Date.parse(record?.latestExpiryTime ?? "") > (schedule?.atMs ?? Infinity);
}

/** The rights are reviewed from the first warning on, so that there is time to add one, and when the expiry needs a note. */
function isToWrite({ view, requested, memory, schedule }: Candidate, { mode, latestMs }: Context): boolean {
  if (!requested || view.skip || view.owner !== undefined || schedule === undefined) return false;
  const isNoteDue = mode === "Enforce" && noteOf(memory, schedule.atMs) !== undefined;
  return isNoteDue || latestMs >= schedule.warnAtMs;
}

/** The fate of the bindings of status that are not among the living. The cache may be stale, so an absence is confirmed live. */
async function unfound(
  all: readonly BindingView[],
  { living, vanished }: Living,
  { records, missingTargets, namespace, readers }: Context,
): Promise<Pick<ObservedBindings, "gone" | "kept">> {
  const found = new Set(living.map(({ view }) => bindingId(view)));
  const cached = new Map(all.map(view => [bindingId(view), view.uid]));
  const [gone, kept]: [BindingStatus[], BindingStatus[]] = [[], []];
  for (const [id, record] of records) {
    if (found.has(id)) continue;
    if (cached.has(id) && !vanished.has(id)) {
      // A binding out of scope is forgotten, but not while the ServiceAccounts of a target are unknown.
      if (missingTargets.length > 0 && cached.get(id) === record.uid) kept.push(record);
      continue;
    }
    const isGone = vanished.has(id) || isFinal(record) || (await isAbsent(record, namespace, readers));
    (isGone ? gone : kept).push(record);
  }
  return { gone, kept };
}

async function isAbsent({ kind, name }: BindingStatus, namespace: string, readers: Readers): Promise<boolean> {
  return (await readers.binding(kind, namespace, name)) === null;
}
