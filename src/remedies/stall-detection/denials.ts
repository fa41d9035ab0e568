import type { LeaseTrack } from "../../core/leases";
import { toSeconds } from "../../core/time";
import { type BindingView, type PodView, standsFor, type SubjectView } from "../../core/views";
import { persistenceOf, type PersistenceRule, type UnauthorizedTrace } from "../../logs/persistence";
import type { LogFinding, Watched } from "../../logs/reading/log-watch";
import { deniedOf, type DeniedRequest } from "../../logs/traces";

// 403s that began while the program ran, and the binding whose loss explains them. A program that probes for optional APIs is denied from its
// start on, and goes on working.

/** Bindings that went are remembered for this long, in milliseconds. */
const KEPT_MS = 86_400_000;

/**
 * Lost bindings that are remembered of each object, the latest: who may write bindings of a ServiceAccount may create and delete them for
 * ever. Far more than an accident loses, and with about 500 bytes each, 16 MB for 500 objects. Without an older one a message says only
 * what binds the ServiceAccount now.
 */
const MAX_LOST = 64;

interface Loss extends Pick<BindingView, "kind" | "namespace" | "name"> {
  readonly role: string;
}

/** A binding that no longer names a ServiceAccount of the targets, while no other one gives it the same role there. */
export interface LostBinding extends Loss {
  /** The ServiceAccounts that lost it, as `namespace/name`. */
  readonly serviceAccounts: readonly string[];
  readonly isDeleted: boolean;
  /** When the operator saw it: wall-clock time. */
  readonly atMs: number;
}

/** The bindings of one object's ServiceAccounts, followed in the watch caches from pass to pass. */
export class LostBindings {
  /** Since when those that name one of the ServiceAccounts have been seen to, by ids such as `RoleBinding web`: wall-clock times. */
  presentSinceMs: ReadonlyMap<string, number> = new Map();
  #before = new Map<string, BindingView>();
  #lost: LostBinding[] = [];

  /** Compares with the pass before, and returns what was lost. `accounts` are `namespace/name`; without bindings nothing is compared. */
  follow(
    bindings: readonly BindingView[] | undefined,
    accounts: readonly string[],
    atMs: number,
  ): readonly LostBinding[] {
    if (bindings === undefined) return this.#lost;
    const present = new Map(
      bindings.filter(({ deletedAtMs }) => deletedAtMs === undefined).map(one => [keyOf(one), one]),
    );
    const named: (readonly [string, BindingView])[] = [];
    const given = new Set<string>();
    for (const [key, one] of present) {
      const names = namedBy(one, accounts);
      if (names.length > 0) named.push([key, one]);
      for (const account of names) given.add(grantOf(lossOf(one), account));
    }
    const lostIn = (one: Loss, before: readonly string[]): string[] => {
      const left = namedBy(present.get(keyOf(one)), before);
      return before.filter(account => !left.includes(account) && !given.has(grantOf(one, account)));
    };
    const gone = Array.from(this.#before, ([key, old]): LostBinding => {
      const one = lossOf(old);
      return { ...one, serviceAccounts: lostIn(one, namedBy(old, accounts)), isDeleted: !present.has(key), atMs };
    });
    const known = [...this.#lost.filter(one => atMs - one.atMs < KEPT_MS), ...gone];
    this.#lost = known.filter(one => lostIn(one, one.serviceAccounts).length > 0).slice(-MAX_LOST);
    this.#before = new Map(named);
    const ids = Array.from(this.#before.values(), idOf);
    this.presentSinceMs = new Map(ids.map(id => [id, this.presentSinceMs.get(id) ?? atMs]));
    return this.#lost;
  }
}

/** The accounts that a binding names, also as all ServiceAccounts of their namespace. */
function namedBy(binding: BindingView | undefined, accounts: readonly string[]): string[] {
  const isNamed = (subject: SubjectView, account: string): boolean =>
    standsFor(subject, account) || (subject.kind === "Group" && subject.name === "system:serviceaccounts");
  return accounts.filter(account => binding?.subjects.some(subject => isNamed(subject, account)));
}

function keyOf({ kind, namespace, name }: Pick<BindingView, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}

function lossOf({ kind, namespace, name, roleRef }: BindingView): Loss {
  return { kind, namespace, name, role: `${roleRef.kind} ${roleRef.name}` };
}

/** What an account may do by a binding, whatever its name is. */
function grantOf({ kind, namespace, role }: Loss, account: string): string {
  return `${kind} ${namespace} ${role} ${account}`;
}

/** A binding in status and messages. */
export function idOf({ kind, name }: Pick<BindingView, "kind" | "name">): string {
  return `${kind} ${name}`;
}

/** 403s that begin earlier in the life of a container, or in the part of its log that was read, may have been there before. */
const BEGAN_AFTER_MS = 600_000;

/** A binding that went this long before the first 403 that is known may be the cause; also one that the operator saw a little later. */
const LOST_BEFORE_MS = 3_600_000;
const LOST_AFTER_MS = 60_000;

/** A request of a pod that the API server persistently answers 403. */
export interface Denial {
  /** For messages, such as `list pods in namespace web`. */
  readonly what: string;
  /** The name of its ServiceAccount. */
  readonly account: string;
  /** The first 403 that is known. */
  readonly sinceMs: number;
  /** The binding that had allowed it, as far as the operator saw. */
  readonly lost?: LostBinding | undefined;
  /** False: it has been there since the program started, as far as is known, so it may be its normal life. */
  readonly isNew: boolean;
}

/** What is known of the log of a container. */
type ContainerLog = Pick<Watched, "container"> & Pick<LogFinding, "topics" | "searchedFromMs">;

/** Returns the persistent denials in the log of a container. */
export function denialsOf(
  log: ContainerLog,
  lost: readonly LostBinding[],
  { rule, nowMs }: { readonly rule: PersistenceRule; readonly nowMs: number },
): Denial[] {
  return Array.from(log.topics).flatMap(([topic, trace]): Denial[] => {
    const request = deniedOf(topic);
    const sinceMs = trace.occasions[0]?.startMs;
    if (request === undefined || sinceMs === undefined) return [];
    if (persistenceOf(trace, rule, nowMs).state !== "persistent") return [];
    const cause = trace.isStartUnknown === true ? undefined : lostBefore(request, sinceMs, lost);
    const isNew = cause !== undefined || hasBegun(log, sinceMs, trace);
    return [{ what: describeRequest(request), account: request.serviceAccount.name, sinceMs, lost: cause, isNew }];
  });
}

function hasBegun(
  { container, searchedFromMs = Infinity }: ContainerLog,
  sinceMs: number,
  { isStartUnknown = false, skippedUntilMs = 0 }: UnauthorizedTrace,
): boolean {
  const fromMs = Math.max(container.startedAtMs ?? Infinity, searchedFromMs, skippedUntilMs);
  return !isStartUnknown && sinceMs >= fromMs + BEGAN_AFTER_MS;
}

/** The last binding of the ServiceAccount that went before the denials began, and that could have allowed the request. */
function lostBefore(request: DeniedRequest, sinceMs: number, lost: readonly LostBinding[]): LostBinding | undefined {
  const { namespace, name } = request.serviceAccount;
  return lostOf(`${namespace}/${name}`, request.namespace, lost, [sinceMs - LOST_BEFORE_MS, sinceMs + LOST_AFTER_MS]);
}

/** The binding that may have let a pod renew a Lease until it stopped: renewals go on without any other. */
export function lostAt(
  { namespace, changedMs }: LeaseTrack,
  { namespace: own, serviceAccountName }: PodView,
  lost: readonly LostBinding[],
): LostBinding | undefined {
  return lostOf(`${own}/${serviceAccountName}`, namespace, lost, [
    changedMs - LOST_AFTER_MS,
    changedMs + LOST_AFTER_MS,
  ]);
}

/** The last binding of a ServiceAccount that went between two times, and that could have allowed requests in a namespace. */
function lostOf(
  account: string,
  namespace: string | undefined,
  lost: readonly LostBinding[],
  [fromMs, toMs]: readonly [number, number],
): LostBinding | undefined {
  return lost
    .filter(({ serviceAccounts }) => serviceAccounts.includes(account))
    .filter(({ kind, namespace: own }) => kind === "ClusterRoleBinding" || own === namespace)
    .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    .toSorted((a, b) => b.atMs - a.atMs)[0];
}

function describeRequest({ verb, resource, group, namespace }: DeniedRequest): string {
  const what = group === "" ? resource : `${resource}.${group}`;
  return `${verb} ${what} ${namespace === undefined ? "in the cluster" : `in namespace ${namespace}`}`;
}

/** What happened to a binding. */
export function describeLost({ role, isDeleted, atMs, ...binding }: LostBinding, account: string): string {
  const at = toSeconds(new Date(atMs));
  const past = isDeleted ? `was deleted at ${at}` : `no longer names ServiceAccount ${account} since ${at}`;
  return `${idOf(binding)} (${role}) ${past}`;
}
