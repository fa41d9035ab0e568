import { isWrite } from "../server/journal";
import type { Obj } from "../server/objects";
import { matches } from "../server/selectors";
import { objectsFor, workloadIn } from "./objects";
import type { Entry, Report, Sight } from "./sight";

// Promise 4 of ClusterControllerResiliences: they act where they enforce, in no namespace that they exclude, leave to a person what a person protects, and
// do not end protection for more than half at once.

const GENERATED_FOR = "controller-resilience.io/generated-for";

/** What a person has just changed may not be known yet, or a write has not arrived. */
const KNOWN_AFTER_MS = 90_000;

interface ClusterSpec {
  readonly mode?: string;
  readonly enforce?: { readonly namespaceSelector?: object };
  readonly excludeNamespaces?: readonly string[];
}

/** Checks every write of a ControllerResilience that is not one of its status. */
export function checkGenerated(sight: Sight, report: Report): void {
  const endings = new Endings(sight, report);
  sight.onRequest(entry => {
    if (!isOfSpec(entry)) return;
    const { verb, before, after } = entry;
    const isOfAPerson = before !== undefined && !isGenerated(before);
    const why = isOfAPerson ? ofAPerson(entry) : WRONGS.map(wrong => after && wrong(sight, after)).find(Boolean);
    const { namespace = "", name = "" } = (after ?? before)?.metadata ?? {};
    if (why === undefined) endings.note(entry);
    else report(4, `${verb} of ${namespace}/${name}, ${why}`);
  });
}

function isOfSpec(entry: Entry): boolean {
  const { resource, subresource, code } = entry;
  return isWrite(entry) && resource === "controllerresiliences" && subresource === undefined && code < 300;
}

function isGenerated({ metadata }: Obj): boolean {
  return metadata.labels?.[GENERATED_FOR] !== undefined;
}

/** Of a person's object the operator changes the finalizers alone. The API server may add what a newer definition has by default. */
function ofAPerson({ verb, body = "" }: Entry): string | undefined {
  return verb !== "patch" || /"\/?spec["/]/.test(body) ? "which a person wrote" : undefined;
}

/** What its owner asks for; nothing while the object ends, or something about it has changed a moment ago. */
function wantedBy({ store, plan, clock }: Sight, { metadata }: Obj): ClusterSpec {
  const owner = store.get("clustercontrollerresiliences", undefined, metadata.labels?.[GENERATED_FOR] ?? "");
  const isNews = plan.happenings.some(({ what, atMs, forMs = 0 }) => {
    const ages = [atMs, atMs + forMs].map(ms => clock.monotonicMs() - ms);
    return CHANGES.test(what) && ages.some(ms => ms >= 0 && ms < KNOWN_AFTER_MS);
  });
  const isOver = owner === undefined || metadata.deletionTimestamp !== undefined || isNews;
  return isOver ? { mode: "Enforce" } : (owner.spec as ClusterSpec);
}

const CHANGES = /cluster-|namespace-|object|definition|backup|mistype-targets/;

/** What may be wrong about an object as the operator has made it. */
const WRONGS: readonly ((sight: Sight, made: Obj) => string | undefined)[] = [
  (sight, made) => {
    const { mode, enforce } = wantedBy(sight, made);
    const space = sight.store.get("namespaces", undefined, made.metadata.namespace ?? "");
    const isEnforced =
      mode === "Enforce" || (enforce !== undefined && matches(enforce.namespaceSelector, space?.metadata.labels));
    return made.spec?.mode === "Enforce" && !isEnforced ? "which enforces where it may only observe" : undefined;
  },
  (sight, made) =>
    made.metadata.generation === 1 &&
    wantedBy(sight, made).excludeNamespaces?.includes(made.metadata.namespace ?? "") === true
      ? "in a namespace that is excluded"
      : undefined,
  ({ store, plan, clock }, made) => {
    if (clock.monotonicMs() < KNOWN_AFTER_MS || plan.happenings.some(({ what }) => CHANGES.test(what)))
      return undefined;
    const others = store.list("controllerresiliences", made.metadata.namespace).filter(one => !isGenerated(one));
    const own = others.flatMap(({ spec }) => spec?.targets ?? []);
    const shared = made.spec?.targets?.find(({ kind, name }) =>
      own.some(one => one.kind === kind && one.name === name),
    );
    return shared && `with ${shared.kind}/${shared.name ?? ""}, which a person protects`;
  },
];

/** Within this time, more than {@link MOST_AT_ONCE} workloads, and more than half, must not lose protection. */
const AT_ONCE_MS = 60_000;

const MOST_AT_ONCE = 10;

/** The workloads that exist and that the operator takes out of generated objects, by the object that they were generated for. */
class Endings {
  readonly #ends = new Map<string, { readonly atMs: number; readonly lost: number }[]>();

  constructor(
    private readonly sight: Sight,
    private readonly report: Report,
  ) {}

  note({ from, before }: Entry): void {
    // Of an object that ends, the request to delete it counts, not that its finalizer goes.
    if (before === undefined || !isPresent(before)) return;
    const owner = before.metadata.labels?.[GENERATED_FOR] ?? "";
    const { namespace = "" } = before.metadata;
    const isKept = (id: string): boolean => objectsFor(this.sight.store, namespace, id).some(isPresent);
    const lost = targetsOf(before).filter(id => this.#exists(namespace, id) && !isKept(id)).length;
    const since = this.sight.clock.monotonicMs() - AT_ONCE_MS;
    const key = `${from} ${owner}`;
    const ends = (this.#ends.get(key) ?? []).filter(({ atMs }) => atMs > since);
    this.#ends.set(key, [...ends, { atMs: since + AT_ONCE_MS, lost }]);
    const all = ends.reduce((sum, end) => sum + end.lost, lost);
    const isTheirs = (one: Obj): boolean => one.metadata.labels?.[GENERATED_FOR] === owner;
    if (lost === 0 || all <= MOST_AT_ONCE || all <= this.#listed(isTheirs).length) return;
    this.report(4, `${String(all)} workloads lose the protection of ${owner} at once`);
  }

  #listed(test: (object: Obj) => boolean): string[] {
    const objects = this.sight.store.list("controllerresiliences");
    return objects.filter(one => isPresent(one) && test(one)).flatMap(targetsOf);
  }

  #exists(namespace: string, workload: string): boolean {
    const { store } = this.sight;
    if (store.get("namespaces", undefined, namespace)?.metadata.deletionTimestamp !== undefined) return false;
    return workloadIn(store, namespace, workload) !== undefined;
  }
}

function isPresent({ metadata: { deletionTimestamp } }: Obj): boolean {
  return deletionTimestamp === undefined;
}

function targetsOf(object: Obj): string[] {
  return (object.spec?.targets ?? []).map(({ kind, name = "" }) => `${kind}/${name}`);
}
