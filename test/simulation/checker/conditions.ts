import { parseDuration } from "../../../src/core/time";
import type { Condition as AnyCondition, Obj } from "../server/objects";
import { accountOf } from "../cluster/tokens";
import { expiryOf, extensionOf, isWanted } from "./bindings";
import { Lasting } from "./lasting";
import { type Block, blockOf, objectsOf, podsOf } from "./objects";
import { knownSinceMs, type Report, type Sight, type Truth } from "./sight";

// Promise 12: no condition lies for long, while nothing that concerns its object happens.

const MINUTE = 60_000;

const LOOK_MS = 30_000;

/** A condition may be wrong for so long: a recovery shows after 15 minutes, the window of the persistent 401 (docs/adr/0006). */
const LAGS_MS = 17 * MINUTE;

/** A condition, as the operator writes it. */
export type Condition = Required<AnyCondition>;

/** The conditions of one object. */
export function conditionsIn(object: Obj | undefined): readonly Condition[] {
  return (object?.status?.conditions ?? []) as Condition[];
}

/** The conditions of all objects that name a pod. */
export function conditionsOf(sight: Sight, { namespace, name }: Truth): readonly Condition[] {
  const pod = sight.store.get("pods", namespace, name);
  return pod === undefined ? [] : objectsOf(sight.store, pod).flatMap(conditionsIn);
}

/** Whether one of them says that a person must act. */
export function isStalled(sight: Sight, truth: Truth): boolean {
  return conditionsOf(sight, truth).some(({ type, status }) => type === "Stalled" && status === "True");
}

/** Compares every condition with what is true. */
export function checkConditions(sight: Sight, report: Report): void {
  const lasting = new Lasting(sight, report, { promise: 12, mostMs: LAGS_MS });
  sight.clock.every(LOOK_MS, () => {
    for (const object of sight.store.list("controllerresiliences")) {
      const { namespace = "", name, uid, deletionTimestamp } = object.metadata;
      if (deletionTimestamp !== undefined) continue;
      for (const { type, why } of liesOf(sight, object))
        lasting.note(`${uid} ${type}`, `${namespace}/${name} says ${why}`, knownSinceMs(sight, namespace) - LOOK_MS);
    }
    lasting.forget();
  });
}

/** What is known of the pods of an object. */
interface Facts {
  readonly sight: Sight;
  readonly object: Obj;
  readonly pods: readonly Truth[];
  /** All pods work, and nothing is odd about them. */
  readonly isWhole: boolean;
}

type Lie = (condition: Condition, facts: Facts) => string | undefined;

/** The truths about the pods of an object. */
export function truthsFor(sight: Sight, { metadata: { namespace, uid } }: Obj): readonly Truth[] {
  return sight.truths().filter(truth => {
    const pod = truth.namespace === namespace ? sight.store.get("pods", namespace, truth.name) : undefined;
    return pod !== undefined && objectsOf(sight.store, pod).some(({ metadata }) => metadata.uid === uid);
  });
}

function liesOf(sight: Sight, object: Obj): { readonly type: string; readonly why: string }[] {
  const conditions = conditionsIn(object);
  if (conditions.some(({ reason }) => reason === "Suspended")) return [];
  const pods = truthsFor(sight, object);
  const isWhole = pods.every(({ state, cause }) => state === "works" && cause === "none");
  const facts = { sight, object, pods, isWhole };
  const own = conditions
    .filter(condition => !tellsOfForged(sight, condition))
    .flatMap(condition => {
      const why = [LIES[condition.type], ...GENERAL]
        .map(lie => lie?.(condition, facts))
        .find(found => found !== undefined);
      return why === undefined
        ? []
        : [{ type: condition.type, why: `${condition.type} ${condition.status}: ${condition.reason}, ${why}` }];
    });
  return [...own, ...disagreement(conditions)];
}

/** Any tenant can write Events, and messages say so. */
function tellsOfForged({ plan }: Sight, { message }: Condition): boolean {
  return /Events of only one namespace/.test(message) && plan.happenings.some(({ what }) => what === "events-forged");
}

/** Ready says what the others say. */
function disagreement(conditions: readonly Condition[]): { readonly type: string; readonly why: string }[] {
  const [ready, stalled] = ["Ready", "Stalled"].map(type => conditions.find(one => one.type === type));
  if (ready === undefined) return [{ type: "Ready", why: "nothing" }];
  const others = conditions.filter(({ type }) => !["Ready", "Stalled", "Reconciling"].includes(type));
  const bad = others.find(({ status }) => status !== "True") ?? (stalled?.status === "True" ? stalled : undefined);
  if ((ready.status === "True") === (bad === undefined)) return [];
  return [
    {
      type: "Ready",
      why: `Ready is ${ready.status}: ${ready.reason}, and ${bad?.type ?? "no condition"} is the reason`,
    },
  ];
}

/** Failures of the operator itself, while nothing fails. */
const failures: Lie = ({ reason, message }, { sight: { plan } }) => {
  if (reason === "DecideFailed") return message;
  const isFailure = ["ObserveFailed", "Forbidden"].includes(reason) && !isClockOff(plan);
  return isFailure ? `and nothing fails: ${message}` : undefined;
};

/** A clock that is off or has drifted stays so, and the operator rightly says it. */
export function isClockOff({ operators, happenings }: Sight["plan"]): boolean {
  const isOff = operators.some(offsetMs => Math.abs(offsetMs) > 20_000);
  return isOff || happenings.some(({ what }) => what === "clock-drifts");
}

const clocks: Lie = ({ type, status }, { sight: { plan } }) =>
  status === "True" && LIES[type] !== undefined && isWrongForAll(plan)
    ? "and the clock of each operator is wrong"
    : undefined;

/** Another object's rollout is waited for. */
const rollouts: Lie = ({ message }, { sight: { store } }) => {
  const [, namespace = "", name = ""] = /waiting for the rollout of \S+ by (\S+)\/(\S+);/.exec(message) ?? [];
  const isGone = name !== "" && store.get("controllerresiliences", namespace, name) === undefined;
  return isGone ? `and waits for ${namespace}/${name}, which is gone` : undefined;
};

/** How many pods a workload has. */
const counts: Lie = ({ message }, { sight: { store }, object }) => {
  const [, workload, said] = /^(\w+\/[\w.-]+) \((\d+) pods?\)/.exec(message) ?? [];
  const pods = podsOf(store, `${object.metadata.namespace ?? ""}/${workload ?? ""}`);
  return workload === undefined || pods.length === Number(said) ? undefined : `and there are ${pods.length}`;
};

/** Of each condition. */
const GENERAL: readonly Lie[] = [failures, clocks, rollouts, counts];

/** An offset of half a minute is reported (docs/metrics.md); here is some room for the time of a request. */
function isWrongForAll({ operators, happenings }: Sight["plan"]): boolean {
  return operators.every(ms => Math.abs(ms) > 60_000) && !happenings.some(({ what }) => what.includes("clock"));
}

/** What a person must end, or time alone. */
const LASTS = ["RestartsExhausted", "BreakerTripped", "TargetNotFound", "WouldRestart", "NothingToDo"];

const tokens: Lie = ({ status, reason, message }, { sight, object, pods, isWhole }) => {
  const nowMs = sight.clock.now().getTime();
  const { evidence = ["Logs"] } = blockOf(object, "tokenRestart");
  const dead = pods.find(({ state, isTokenDead, logged401Ms = -Infinity }) => {
    // Only its log shows that a program goes on with a copy of an earlier token.
    const isVisible = evidence.includes("Logs") || isTokenDead;
    return state === "token-dead" && isVisible && nowMs - logged401Ms < 2 * MINUTE;
  });
  if (status === "True" && dead !== undefined) return `and ${dead.name} is answered 401 (${dead.cause})`;
  if (reason === "Conflict") return isShared(sight, pods) ? undefined : "and no other object acts on its pods";
  // An agent goes on with a dead token that it has no use for.
  const isRefuted = isWhole && !pods.some(({ isTokenDead }) => isTokenDead) && !LASTS.includes(reason);
  return status === "False" && isRefuted ? `and all its pods work: ${message}` : undefined;
};

const controllers: Lie = ({ status, reason, message }, { sight, object, pods, isWhole }) => {
  if (reason === "Conflict") return isShared(sight, pods) ? undefined : "and no other object acts on its pods";
  // It covers the last hour.
  if (reason === "LeadershipLost" && sight.calmSinceMs(object.metadata.namespace) < 60 * MINUTE) return undefined;
  return status === "False" && isWhole && !LASTS.includes(reason) ? `and all its pods work: ${message}` : undefined;
};

function isShared({ store }: Sight, pods: readonly Truth[]): boolean {
  return pods.some(({ namespace, name }) => {
    const pod = store.get("pods", namespace, name);
    return pod !== undefined && objectsOf(store, pod).length > 1;
  });
}

const bindings: Lie = ({ status, reason, message }, { sight, object, pods }) => {
  const namespace = object.metadata.namespace ?? "";
  const block = blockOf(object, "bindingRenewal");
  const [renewMs, warnMs] = noticesOf(block);
  const nowMs = sight.clock.now().getTime();
  const left = sight.store.list("rolebindings", namespace).flatMap(binding => {
    const atMs = expiryOf(binding);
    return atMs === undefined ? [] : [{ binding, leftMs: atMs - nowMs }];
  });
  if (reason === "Contested")
    return wasShortened(sight, namespace) ? undefined : `and nobody else changed an expiry: ${message}`;
  if (status === "True") {
    const late = left.find(({ binding, leftMs }) => {
      // It is renewed before its expiry by a third of the extension at most (docs/remedies/binding-renewal.md).
      const earlyMs = Math.min(renewMs, extensionOf(block, binding) / 3);
      return leftMs > 0 && leftMs < earlyMs - LAGS_MS && isWanted(sight, binding);
    });
    return late !== undefined && serves(sight, late.binding, pods)
      ? `and ${late.binding.metadata.name} is not renewed`
      : undefined;
  }
  if (status !== "False") return undefined;
  // Or mistyped, and brought back by a backup, or marked with a second expiry.
  const isNear = left.some(
    ({ binding: { metadata }, leftMs }) =>
      !(leftMs > warnMs + LAGS_MS) || metadata.annotations?.["janitor/expires"] !== undefined,
  );
  return isNear || ["AccessEnded", "TargetNotFound"].includes(reason)
    ? undefined
    : `and no binding expires soon: ${message}`;
};

function noticesOf({ renewBefore = "24h", warnBefore = "168h" }: Block): [renewMs: number, warnMs: number] {
  return [parseDuration(renewBefore), parseDuration(warnBefore)];
}

function serves({ store }: Sight, binding: Obj, pods: readonly Truth[]): boolean {
  const subjects = (binding["subjects"] ?? []) as { name: string }[];
  const accounts = pods.map(({ namespace, name }) => accountOf(store.get("pods", namespace, name) ?? binding));
  return subjects.some(({ name }) => accounts.includes(name));
}

function wasShortened({ plan }: Sight, namespace: string): boolean {
  return plan.happenings.some(
    ({ what, on = "" }) => /binding|gitops|restore/.test(what) && on.startsWith(`${namespace}/`),
  );
}

const flows: Lie = ({ status, reason, message }, { sight, object, pods }) => {
  const floods = pods.some(({ state, workload }) => state === "floods" || isFlood(sight, workload));
  if (["Throttled", "Runaway", "ReleaseFailed"].includes(reason) && !floods) return `and nobody floods: ${message}`;
  if (reason === "Runaway" && isCalm(object, pods)) return `and nobody floods any more: ${message}`;
  const isForeign = sight.plan.happenings.some(({ what }) => /flow|gitops|restore/.test(what));
  if (message.includes("was not made by the operator") && !isForeign)
    return `and nobody else writes FlowSchemas: ${message}`;
  const isThere = sight.store
    .list("flowschemas")
    .some(({ metadata }) => metadata.labels?.[OWNER] === object.metadata.uid);
  return status === "True" && reason === "Isolated" && !isThere ? "and it has no FlowSchema" : undefined;
};

/** None floods now, and none is given up, which lasts for a day. */
function isCalm(object: Obj, pods: readonly Truth[]): boolean {
  return pods.every(({ state }) => state !== "floods") && !flowStatesOf(object).includes("GivenUp");
}

/** The states in status.flows. */
export function flowStatesOf(object: Obj | undefined): readonly string[] {
  return (object?.status?.flows ?? []).map(({ state }) => state);
}

const OWNER = "controller-resilience.io/owner-uid";

function isFlood({ plan }: Sight, workload: string): boolean {
  return plan.workloads.some(({ name, program }) => program === "floods" && workload.endsWith(`/${name}`));
}

const LIES: Readonly<Record<string, Lie>> = {
  TokensAccepted: tokens,
  ControllersActive: controllers,
  BindingsCurrent: bindings,
  FlowsIsolated: flows,
};
