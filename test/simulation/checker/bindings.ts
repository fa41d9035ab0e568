import type { Obj } from "../server/objects";
import type { Store } from "../server/store";
import { parseDuration } from "../../../src/core/time";
import { accountOf } from "../cluster/tokens";
import { Lately, ON_ITS_WAY_MS } from "./lasting";
import { acts, type Block, blockOf, objectsOf } from "./objects";
import type { Report, Sight } from "./sight";

// Promise 5: no binding lives longer than its consent.

const EXPIRES = "controller-resilience.io/expires-at";
const RENEW = "controller-resilience.io/renew";
const LIFE = "controller-resilience.io/life-seconds";
const LATEST = "controller-resilience.io/latest-expiry";

/** What keeps a binding from being renewed. */
const REFUSING = /^(binding-owned|role-widened)$/;

/** A binding that is asked for is renewed, however late the pass is. */
const LATE_MS = 10 * 60_000;

/** A write that was sent before a person's change may not overwrite it: preconditions refuse it. So no time is given. */
export function checkBindings(sight: Sight, report: Report): void {
  /** Namespaces with an object that renews. */
  const acting = new Lately(sight, () => {
    const objects = sight.store.list("controllerresiliences").filter(object => acts(object, "bindingRenewal"));
    return objects.map(({ metadata: { namespace = "" } }) => namespace);
  });
  /** It may not be renewed, and that is no news. */
  const isRefusedFor = (binding: Obj): boolean =>
    isRefused(sight, binding) &&
    sight.plan.happenings.some(
      ({ what, atMs }) => REFUSING.test(what) && sight.clock.monotonicMs() - atMs > ON_ITS_WAY_MS,
    );
  const renewed = (before: Obj, after: Obj): void => {
    const [old = -Infinity, next = Infinity] = [expiryOf(before), expiryOf(after)];
    if (old === next) return;
    const name = `${before.metadata.namespace ?? ""}/${before.metadata.name}`;
    const objections: readonly [isBroken: boolean, sentence: string][] = [
      [old <= sight.clock.now().getTime(), `extended ${name}, which had expired`],
      [next < old, `shortened ${name}`],
      [!isWanted(sight, before), `renewed ${name} without consent`],
      [
        isRefusedFor(before) && isRefused(sight, before),
        `renewed ${name}, which has an owner, or a role that is too powerful`,
      ],
      [!acting.has(before.metadata.namespace ?? ""), `renewed ${name}, and no object that acts renews`],
      [isContested(before), `extended ${name}, whose expiry a person had moved to an earlier time`],
      [next > latestFor(sight, before, old), `extended ${name} by more than it may be`],
    ];
    for (const [isBroken, sentence] of objections) if (isBroken) report(5, sentence);
  };
  sight.onRequest(({ resource, verb, code, before, after }) => {
    const isRenewal = resource.endsWith("rolebindings") && verb === "patch" && code === 200;
    if (isRenewal && before !== undefined && after !== undefined) renewed(before, after);
  });
  sight.onRequest(({ resource, verb, code, name = "" }) => {
    if (resource.endsWith("rolebindings") && verb === "create" && code < 300) report(5, `created the binding ${name}`);
  });
}

/** When a binding expires, in milliseconds since 1970. */
export function expiryOf({ metadata }: Obj): number | undefined {
  const text = metadata.annotations?.[EXPIRES];
  return text === undefined ? undefined : Date.parse(text);
}

/** What a renewal adds to the expiry: extendBy if the object names the binding, its life else. In milliseconds. */
export function extensionOf({ extendBy = "", ...block }: Block, binding: Obj): number {
  if (names(block, binding) && extendBy !== "") return parseDuration(extendBy);
  return 1_000 * Number(binding.metadata.annotations?.[LIFE] ?? Infinity);
}

/** The latest expiry that a renewal may write, which is never after renewUntil. */
function latestFor({ store }: Sight, binding: Obj, fromMs: number): number {
  const blocks = store
    .list("controllerresiliences", binding.metadata.namespace)
    .map(object => blockOf(object, "bindingRenewal"));
  const ends = blocks.map(({ renewUntil = "", ...block }) => {
    const untilMs = renewUntil === "" ? Infinity : Date.parse(renewUntil);
    return Math.min(fromMs + extensionOf(block, binding), untilMs);
  });
  return Math.max(...ends) + 1_000;
}

/** Whether the expiry is earlier than the latest one, which the operator has noted on the binding. */
function isContested(binding: Obj): boolean {
  return (expiryOf(binding) ?? Infinity) < Date.parse(binding.metadata.annotations?.[LATEST] ?? "");
}

/** At the end of a calm time: a binding that is asked for has not expired in it. */
export function checkRenewals(sight: Sight, report: Report): void {
  const nowMs = sight.clock.now().getTime();
  const calmFromMs = nowMs - sight.calmSinceMs() + LATE_MS;
  for (const binding of sight.store.list("rolebindings")) {
    const atMs = expiryOf(binding) ?? Infinity;
    if (atMs <= nowMs && atMs >= calmFromMs && !isContested(binding) && isRenewedBySome(sight, binding))
      report(
        9,
        `${binding.metadata.namespace ?? ""}/${binding.metadata.name} has expired, although it asks for its renewal`,
      );
  }
}

/** Whether it has the annotation, and an object without an end of all renewals sees it. */
function isRenewedBySome(sight: Sight, binding: Obj): boolean {
  const { store } = sight;
  const { namespace, annotations } = binding.metadata;
  const objects = store.list("controllerresiliences", namespace);
  const [subject] = (binding["subjects"] ?? []) as { name: string }[];
  const isLimited = objects.some(object => blockOf(object, "bindingRenewal").renewUntil !== undefined);
  const sees = (object: Obj): boolean => acts(object, "bindingRenewal") && runsAs(store, object, subject?.name);
  const isFree = !isReserved(binding) && !isLimited && !isRefused(sight, binding);
  return annotations?.[RENEW] === "true" && isFree && objects.some(sees);
}

/** Whether a workload that an object targets runs as a ServiceAccount. */
function runsAs(store: Store, object: Obj, account: string | undefined): boolean {
  const pods = store.list("pods", object.metadata.namespace).filter(pod => accountOf(pod) === account);
  return pods.some(pod => objectsOf(store, pod).includes(object));
}

/** Whether the operator must leave it alone: it belongs to another object, or its role lets its holder bind any other (docs/remedies/binding-renewal.md). */
function isRefused({ store }: Sight, { metadata, roleRef }: Obj): boolean {
  const { kind, name } = roleRef as { kind: string; name: string };
  const role = kind === "ClusterRole" ? store.get("clusterroles", undefined, name) : undefined;
  const rules = (role?.["rules"] ?? []) as readonly { verbs: readonly string[] }[];
  return (metadata.ownerReferences ?? []).length > 0 || rules.some(({ verbs }) => verbs.includes("bind"));
}

function names({ bindings = [] }: Block, { kind, metadata }: Obj): boolean {
  return bindings.some(one => one.kind === kind && one.name === metadata.name);
}

/** Whether a person lets it expire, or it expires twice. */
function isReserved({ metadata: { annotations = {} } }: Obj): boolean {
  return annotations["controller-resilience.io/skip"] === "true" || annotations["janitor/expires"] !== undefined;
}

/** Whether its renewal is requested, by itself or by an object that acts. */
export function isWanted({ store }: Sight, binding: Obj): boolean {
  if (isReserved(binding)) return false;
  if (binding.metadata.annotations?.[RENEW] === "true") return true;
  return store.list("controllerresiliences", binding.metadata.namespace).some(object => {
    return acts(object, "bindingRenewal") && names(blockOf(object, "bindingRenewal"), binding);
  });
}
