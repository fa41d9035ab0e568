import type { BindingStatus, ControllerResilience } from "../../api/controller-resilience";
import type { Readers, Right } from "../../core/readers";
import { describeTarget, readTarget } from "../../core/targets";
import type { BindingView } from "../../core/views";
import { readExpiry } from "./conventions";
import { bindingId, type BindingRenewalFacts, type GoneBinding, type LivingBinding, type Spec } from "./facts";
import { isRecorded } from "./gone";
import { rightsFor } from "./rights";
import { markedOf, scheduleOf } from "./schedule";
import { concernsTargets, isFound, isListed } from "./scope";

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
  const { namespace } = object.metadata;
  const targets = spec.bindings.length > 0 ? NO_TARGETS : await readTargets(object, from);
  const scope = { namespace, ...targets };
  const records = object.status?.bindings ?? [];
  const found = spec.bindings.length > 0 ? await readListed(spec, namespace, from) : await find(scope, from);
  const rest = await readUnfound(records, found.living, { spec, scope, from });
  const living = [...found.living, ...rest.living];
  const nowMs = from.clock.now().getTime();
  return {
    mode: object.spec.mode,
    ...scope,
    living: await Promise.all(living.map(view => livingBinding(view, { records, spec, nowMs, from }))),
    gone: await Promise.all(rest.gone.map(record => goneBinding(record, { nowMs, from }))),
    absent: found.absent.filter(({ kind, name }) => !rest.gone.some(one => one.kind === kind && one.name === name)),
    kept: rest.kept,
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
  return { living: all.filter(view => isFound(view, scope)), absent: [] };
}

interface Unfound {
  readonly living: readonly BindingView[];
  readonly gone: readonly BindingStatus[];
  readonly kept: readonly BindingStatus[];
}

/** What became of bindings that status tells of and the search has not found. A cache may be behind, so each is read live. */
async function readUnfound(
  records: readonly BindingStatus[],
  found: readonly BindingView[],
  by: { readonly spec: Spec; readonly scope: Targets & { readonly namespace: string }; readonly from: Readers },
): Promise<Unfound> {
  const ids = new Set(found.map(bindingId));
  const living: BindingView[] = [];
  const gone: BindingStatus[] = [];
  const kept: BindingStatus[] = [];
  for (const record of records) {
    if (ids.has(bindingId(record)) || !isRecorded(record)) continue;
    if (!isStillMeant(record, by.spec, by.scope)) {
      // Of a target that is missing for now nobody knows what it runs as, so nothing is forgotten meanwhile.
      if (by.spec.bindings.length === 0 && by.scope.missingTargets.length > 0) kept.push(record);
      continue;
    }
    const view = await by.from.binding(record.kind, by.scope.namespace, record.name);
    if (view === null) gone.push(record);
    else if (by.spec.bindings.length > 0 || isFound(view, by.scope)) living.push(view);
  }
  return { living, gone, kept };
}

function isStillMeant(record: BindingStatus, spec: Spec, scope: Targets & { readonly namespace: string }): boolean {
  return spec.bindings.length > 0 ? isListed(spec, record.kind, record.name) : concernsTargets(record, scope);
}

async function livingBinding(
  view: BindingView,
  by: {
    readonly records: readonly BindingStatus[];
    readonly spec: Spec;
    readonly nowMs: number;
    readonly from: Readers;
  },
): Promise<LivingBinding> {
  const record = by.records.find(one => bindingId(one) === bindingId(view) && isOf(one, view));
  const marked = markedOf(view);
  const lifeMs = record?.lifeSeconds === undefined ? undefined : record.lifeSeconds * 1000;
  const schedule = scheduleOf(marked, readExpiry(marked), by.spec, lifeMs);
  const matters = schedule !== undefined && by.nowMs >= schedule.warnAtMs;
  const lacks = matters ? await missing(rightsFor(placed(view), "patch"), by.from) : [];
  return { view, ...(record === undefined ? {} : { record }), lacks };
}

/** A record without a uid is of one that was restored and not seen since. One of a predecessor says nothing of its successor. */
function isOf(record: BindingStatus, view: BindingView): boolean {
  return record.uid === undefined || record.uid === view.uid;
}

async function goneBinding(
  record: BindingStatus,
  { nowMs, from }: { readonly nowMs: number; readonly from: Readers },
): Promise<GoneBinding> {
  const isRevoked = record.state === "Revoked" || nowMs < Date.parse(record.expiryTime ?? "");
  return { record, lacks: isRevoked ? [] : await missing(rightsFor(record, "create"), from) };
}

function placed({ kind, namespace, name, roleRef }: BindingView): Parameters<typeof rightsFor>[0] {
  return { kind, name, roleRef, ...(namespace === "" ? {} : { namespace }) };
}

async function missing(rights: readonly Right[], from: Readers): Promise<Right[]> {
  const answers = await Promise.all(rights.map(right => from.may(right)));
  return rights.filter((_, i) => answers[i] !== true);
}
