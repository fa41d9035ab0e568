import type { Obj } from "../server/objects";
import type { Entry, Report, Sight } from "./sight";

// Promise 4 of ClusterControllerResiliences: they act where they enforce, in no namespace that they exclude, and leave to a person what a person protects.

const GENERATED_FOR = "controller-resilience.io/generated-for";

/** What a person has just changed may not be known yet, or a write is on its way. */
const KNOWN_AFTER_MS = 90_000;

interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly values?: readonly string[] }[];
}

interface ClusterSpec {
  readonly mode?: string;
  readonly enforce?: { readonly namespaceSelector?: Selector };
  readonly excludeNamespaces?: readonly string[];
}

interface Spec {
  readonly mode?: string;
  readonly targets?: readonly { readonly kind: string; readonly name?: string }[];
}

/** Checks every write of a ControllerResilience that is not one of its status. */
export function checkGenerated(sight: Sight, report: Report): void {
  sight.onRequest(entry => {
    if (!isWrite(entry)) return;
    const { verb, before, after } = entry;
    const isOfAPerson = before !== undefined && !isGenerated(before);
    const why = isOfAPerson ? ofAPerson(entry) : WRONGS.map(wrong => after && wrong(sight, after)).find(Boolean);
    const { namespace = "", name = "" } = (after ?? before)?.metadata ?? {};
    if (why !== undefined) report(4, `${verb} of ${namespace}/${name}, ${why}`);
  });
}

function isWrite({ resource, subresource, code, verb }: Entry): boolean {
  const isDone = code < 300 && ["create", "update", "patch", "delete"].includes(verb);
  return resource === "controllerresiliences" && subresource === undefined && isDone;
}

function isGenerated({ metadata }: Obj): boolean {
  return metadata.labels?.[GENERATED_FOR] !== undefined;
}

/** Of a person's object the operator changes the finalizers alone. */
function ofAPerson({ verb, before, after }: Entry): string | undefined {
  const isSame = JSON.stringify(before?.["spec"]) === JSON.stringify(after?.["spec"]);
  return verb === "delete" || !isSame ? "which a person wrote" : undefined;
}

/** What its owner asks for; nothing while the object ends, or something about it has changed a moment ago. */
function wantedBy({ store, plan, clock }: Sight, { metadata }: Obj): ClusterSpec {
  const owner = store.get("clustercontrollerresiliences", undefined, metadata.labels?.[GENERATED_FOR] ?? "");
  const isNews = plan.happenings.some(({ what, atMs, forMs = 0 }) => {
    const ages = [atMs, atMs + forMs].map(ms => clock.monotonicMs() - ms);
    return CHANGES.test(what) && ages.some(ms => ms >= 0 && ms < KNOWN_AFTER_MS);
  });
  const isOver = owner === undefined || metadata.deletionTimestamp !== undefined || isNews;
  return isOver ? { mode: "Enforce" } : (owner["spec"] as ClusterSpec);
}

const CHANGES = /cluster-|namespace-|object|definition|backup/;

/** What may be wrong about an object as the operator has made it. */
const WRONGS: readonly ((sight: Sight, made: Obj) => string | undefined)[] = [
  (sight, made) => {
    const { mode, enforce } = wantedBy(sight, made);
    const space = sight.store.get("namespaces", undefined, made.metadata.namespace ?? "");
    const isEnforced = mode === "Enforce" || (enforce !== undefined && matches(enforce.namespaceSelector, space));
    return (made["spec"] as Spec).mode === "Enforce" && !isEnforced
      ? "which enforces where it may only observe"
      : undefined;
  },
  (sight, made) =>
    wantedBy(sight, made).excludeNamespaces?.includes(made.metadata.namespace ?? "") === true
      ? "in a namespace that is excluded"
      : undefined,
  ({ store, plan, clock }, made) => {
    if (clock.monotonicMs() < KNOWN_AFTER_MS || plan.happenings.some(({ what }) => CHANGES.test(what)))
      return undefined;
    const others = store.list("controllerresiliences", made.metadata.namespace).filter(one => !isGenerated(one));
    const own = others.flatMap(one => (one["spec"] as Spec).targets ?? []);
    const targets = (made["spec"] as Spec).targets ?? [];
    const shared = targets.find(({ kind, name }) => own.some(one => one.kind === kind && one.name === name));
    return shared && `with ${shared.kind}/${shared.name ?? ""}, which a person protects`;
  },
];

function matches(selector: Selector = {}, space: Obj | undefined): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labels = space?.metadata.labels ?? {};
  const isIn = ({ key, values = [] }: { readonly key: string; readonly values?: readonly string[] }): boolean =>
    values.includes(labels[key] ?? "");
  return Object.entries(matchLabels).every(([key, value]) => labels[key] === value) && matchExpressions.every(isIn);
}
