import { type BindingView, standsFor, type SubjectView } from "../../core/views";

/** Bindings that went are remembered for this long, in milliseconds. */
const KEPT_MS = 86_400_000;

/**
 * Lost bindings that are remembered of each object, the latest: who may write bindings of a ServiceAccount may create and delete them for
 * ever. Far more than an accident loses, and with about 500 bytes each, 16 MB for 500 objects. Without an older one a message says only
 * what binds the ServiceAccount now.
 */
const MAX_LOST = 64;

/** A binding that no longer names a ServiceAccount of the targets. */
export interface LostBinding {
  readonly kind: BindingView["kind"];
  readonly namespace: string;
  readonly name: string;
  readonly role: string;
  /** The ServiceAccounts that lost it, as `namespace/name`. */
  readonly serviceAccounts: readonly string[];
  readonly how: "deleted" | "changed";
  /** When the operator saw it: wall-clock time. */
  readonly atMs: number;
}

/** The bindings of one object's ServiceAccounts, followed in the watch caches from pass to pass. */
export class LostBindings {
  #before = new Map<string, BindingView>();
  #lost: LostBinding[] = [];

  /** Compares with the pass before, and returns what was lost. `accounts` are `namespace/name`; without bindings nothing is compared. */
  follow(
    bindings: readonly BindingView[] | undefined,
    accounts: readonly string[],
    nowMs: number,
  ): readonly LostBinding[] {
    if (bindings === undefined) return this.#lost;
    const present = new Map(
      bindings.filter(({ deletedAtMs }) => deletedAtMs === undefined).map(one => [keyOf(one), one]),
    );
    const gone = Array.from(this.#before, ([key, old]) => lostIn(old, present.get(key), accounts, nowMs));
    const kept = this.#lost.filter(({ atMs }) => nowMs - atMs < KEPT_MS);
    const known = [...kept, ...gone.flatMap(one => one ?? [])];
    this.#lost = known.filter(lost => !isBack(lost, present.get(keyOf(lost)))).slice(-MAX_LOST);
    const own = Array.from(present).filter(([, one]) => namedBy(one, accounts).length > 0);
    this.#before = new Map(own);
    return this.#lost;
  }
}

function lostIn(
  old: BindingView,
  now: BindingView | undefined,
  accounts: readonly string[],
  atMs: number,
): LostBinding | undefined {
  const still = now === undefined ? [] : namedBy(now, accounts);
  const serviceAccounts = namedBy(old, accounts).filter(account => !still.includes(account));
  if (serviceAccounts.length === 0) return undefined;
  const { kind, namespace, name, roleRef } = old;
  return {
    ...{ kind, namespace, name, serviceAccounts, atMs, role: `${roleRef.kind} ${roleRef.name}` },
    how: now === undefined ? "deleted" : "changed",
  };
}

function isBack({ serviceAccounts }: LostBinding, now: BindingView | undefined): boolean {
  return now !== undefined && namedBy(now, serviceAccounts).length === serviceAccounts.length;
}

/** The accounts that a binding names, also as all ServiceAccounts of their namespace. */
function namedBy({ subjects }: Pick<BindingView, "subjects">, accounts: readonly string[]): string[] {
  return accounts.filter(account => subjects.some(subject => isNamed(subject, account)));
}

function isNamed(subject: SubjectView, account: string): boolean {
  return standsFor(subject, account) || (subject.kind === "Group" && subject.name === "system:serviceaccounts");
}

function keyOf({ kind, namespace, name }: Pick<BindingView, "kind" | "namespace" | "name">): string {
  return `${kind} ${namespace}/${name}`;
}
