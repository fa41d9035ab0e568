import type { WorkloadPlan } from "../cluster/install";
import type { ProgramName } from "../programs/library";
import type { Dice } from "../time";
import type { BindingPlan, Happening, ObjectPlan } from "./plan";
import { at, CLIENTS, forMinutes, keyOf, objectFor, type Scene, workload } from "./scene-parts";

// Scenes of what else is rare.

const MINUTE = 60_000;

/** The first pod works with a shorter token, and then no pod can be created any more. */
function stuckRollout(dice: Dice): Scene {
  const tried = workload("team-0", "app-0", "client-go-new", { kind: "DaemonSet" });
  const happenings = [at(dice, [12, 14], "pods-refused-in", { on: "team-0", ...forMinutes(45) })];
  return { workloads: [tried], objects: [objectFor([tried], { tokenLifetime: {} })], nodes: 3, happenings };
}

/** Tenants write what they are not: kubelets, other pods, programs. */
function forgers(dice: Dice): Scene {
  const agent = workload("kube-system", "agent-0", "cni-thin", { kind: "DaemonSet" });
  const [victim, other] = [0, 1].map(number =>
    workload(`team-${number}`, `app-${number}`, dice.pick(CLIENTS), { replicas: 2, leaseSeconds: 15 }),
  ) as [typeof agent, typeof agent];
  const stalls = { onStall: "Restart", leases: [{ namespace: "team-1", name: "app-1" }] };
  const objects = [
    objectFor([agent], { tokenRestart: {} }),
    objectFor([victim], { tokenRestart: {}, stallDetection: stalls }),
  ];
  const happenings = [
    at(dice, [4, 10], "events-forged", { on: "team-1", ...forMinutes(40) }),
    at(dice, [4, 10], "lease-forged", { on: keyOf(victim), ...forMinutes(60) }),
    at(dice, [4, 30], "log-forged", { on: keyOf(dice.pick([victim, other])), ...forMinutes(30) }),
  ];
  const dead = at(dice, [15, 40], "recreate-account", { on: keyOf(dice.pick([agent, victim])) });
  return {
    workloads: [agent, victim, other],
    objects,
    nodes: 2,
    happenings: dice.chance(0.5) ? [...happenings, dead] : happenings,
  };
}

/** Bindings are due, and their renewal is refused, or must not be. */
function refusedRenewals(dice: Dice): Scene {
  const workloads = [0, 1].map(number => workload(`team-${number}`, `app-${number}`, "silent"));
  const bindings: BindingPlan[] = workloads.map(({ namespace, name }) => ({
    ...{ namespace, name: `${name}-expiring`, account: name, lifeMs: 120 * MINUTE, consents: true },
    expiresMs: Math.round(dice.between(60, 110) * MINUTE),
  }));
  const objects = workloads.map(one => objectFor([one], { bindingRenewal: { renewBefore: "40m", warnBefore: "2h" } }));
  const troubles = [
    at(dice, [3, 20], "bindings-refused", { ...forMinutes(60), amount: dice.pick([403, 500]) }),
    at(dice, [3, 30], "binding-owned", { on: keyOf(bindings[0]!), ...forMinutes(60) }),
    at(dice, [3, 30], "role-widened", forMinutes(60)),
  ];
  return { workloads, objects, bindings, happenings: [dice.pick(troubles)] };
}

/** What an object for all namespaces generates is refused. */
function refusedObjects(dice: Dice): Scene {
  const workloads = [0, 1, 2].map(number => workload(`team-${number}`, `app-${number}`, dice.pick(CLIENTS)));
  const refused = at(dice, [1, 1.4], "objects-refused", {
    on: "team-1",
    ...forMinutes(30),
    amount: dice.pick([403, 500]),
  });
  const dead = workloads.map(one => at(dice, [5, 40], "recreate-account", { on: keyOf(one) }));
  const spec = { mode: "Enforce", template: { tokenRestart: {} } };
  return { workloads, objects: [{ name: "everything", spec }], happenings: [refused, ...dead] };
}

/** Pods of two revisions have different ServiceAccounts, and one of these is recreated. */
function twoAccounts(dice: Dice): Scene {
  const kinds = ["Deployment", "StatefulSet", "DaemonSet"] as const;
  const only = workload("team-0", "app-0", dice.pick(CLIENTS), {
    ...{ kind: dice.pick(kinds), replicas: 3 },
    ...(dice.chance(0.2) ? { updateStrategy: "OnDelete" } : {}),
  });
  const happenings: Happening[] = [
    at(dice, [4, 8], "account-changed", { on: keyOf(only), ...forMinutes(45), amount: dice.int(2) }),
    at(dice, [10, 30], "recreate-account", { on: dice.pick([keyOf(only), `${keyOf(only)}-next`]) }),
    at(dice, [10, 30], "delete-pod", { on: keyOf(only) }),
  ];
  return { workloads: [only], objects: [objectFor([only], { tokenRestart: {} })], nodes: 3, happenings };
}

/** An object that only observes sees all that it could do. */
function observer(dice: Dice): Scene {
  const lease = workload("team-0", "app-0", "hangs", { leaseSeconds: 15 });
  const [dead, set] = [
    workload("team-0", "app-1", dice.pick(CLIENTS)),
    workload("team-0", "app-2", "client-go-new", SET),
  ];
  const name = "app-1-expiring";
  const binding = {
    namespace: "team-0",
    name,
    account: "app-1",
    expiresMs: 90 * MINUTE,
    lifeMs: 120 * MINUTE,
    consents: true,
  };
  const renewal = { renewBefore: "1h", warnBefore: "2h" };
  const blocks = {
    tokenRestart: {},
    tokenLifetime: {},
    stallDetection: { onStall: "Restart" },
    bindingRenewal: renewal,
  };
  const happenings = [at(dice, [5, 20], "recreate-account", { on: keyOf(dead) })];
  const workloads = [lease, dead, set];
  return {
    workloads,
    bindings: [binding],
    objects: [objectFor(workloads, { mode: "Observe", ...blocks })],
    happenings,
  };
}

/** Nothing but the counters of the API servers tells that a token has died, long after the logs were last read. */
export function longRest(dice: Dice): Scene {
  const dying = workload("team-0", "app-0", "copies-token", { tokenSeconds: 1_800 });
  const others = workload("team-1", "app-1", dice.pick(CLIENTS), { replicas: 12 });
  const objects = [dying, others].map(one => objectFor([one], { tokenRestart: {} }));
  return { workloads: [dying, others], objects, servers: 2, happenings: [] };
}

const SET = { kind: "DaemonSet" } as const;

/** Restarts in vain trip the breaker, and a backup of before is restored. */
function restoredBreaker(dice: Dice): Scene {
  const workloads = [0, 1, 2, 3].map(number => workload("team-0", `app-${number}`, "other-cluster"));
  const restored = at(dice, [1, 3], "backup-restored", forMinutes(dice.between(35, 65)));
  const limits = { tokenRestart: { cooldown: "30s" } };
  return { workloads, objects: [objectFor(workloads, limits)], servers: 1, operators: [0], happenings: [restored] };
}

const FATES: readonly ProgramName[] = [
  ...(["widgets", "widgets-slow", "widgets-one-poisoned"] as const),
  ...(["widgets-blocked", "widgets-hanging", "widgets-deaf", "widgets-poisoned"] as const),
];

/** A program with a queue handles what people change, or does so no more. */
function handler(dice: Dice, namespace: string, name: string): WorkloadPlan {
  const program = dice.pick(FATES);
  const lease = dice.chance(0.7) ? { leaseSeconds: 15, replicas: dice.pick([1, 1, 2]) } : {};
  const isIdle = program === "widgets" && dice.chance(0.3);
  return workload(namespace, name, program, {
    ...lease,
    ...(isIdle ? {} : { changesEveryMinutes: dice.pick([2, 3, 4]) }),
  });
}

/** The object that follows the work of a handler. */
function followerOf(dice: Dice, one: WorkloadPlan): ObjectPlan {
  const selector = { matchLabels: { app: one.name } };
  const isSlow = one.program === "widgets-slow";
  const wait = isSlow ? { for: "30m" } : dice.pick([{}, { for: "5m" }, { for: "10m" }]);
  const stallDetection = {
    onStall: dice.pick(["Report", "Restart", "Restart"]),
    progress: [{ apiVersion: "example.com/v1", kind: "Widget", selector, ...wait }],
    ...(dice.chance(0.85) ? { metrics: {} } : {}),
  };
  return objectFor([one], { stallDetection, ...(dice.chance(0.4) ? { tokenRestart: {} } : {}) });
}

/** Some handlers, each in another namespace. */
export function drawDue(dice: Dice, count: number): Pick<Scene, "workloads" | "objects"> {
  const workloads = Array.from({ length: count }, (_, at) => handler(dice.fork(`${at}`), `work-${at}`, `work-${at}`));
  return { workloads, objects: workloads.map(one => followerOf(dice.fork(one.name), one)) };
}

/** Two handlers, and what happens to their work. */
export function dueWork(dice: Dice): Scene {
  const workloads = [0, 1].map(number => handler(dice, `team-${number}`, `app-${number}`));
  const objects = workloads.map(one => followerOf(dice, one));
  const [on] = workloads.map(keyOf);
  const troubles = [
    at(dice, [5, 60], "metrics-odd", { on: on!, ...forMinutes(dice.between(5, 40)), amount: dice.int(4) }),
    at(dice, [5, 60], "progress-right-gone", forMinutes(dice.between(5, 30))),
    at(dice, [5, 30], "widgets-paused", { on: on!, ...forMinutes(dice.between(20, 80)) }),
    at(dice, [5, 60], "operator-killed", { on: "0" }),
    at(dice, [5, 60], "recreate-account", { on: on! }),
    at(dice, [5, 60], "scale", { on: on!, amount: dice.int(3) }),
  ];
  return { workloads, objects, operators: [0], happenings: troubles.filter(() => dice.chance(0.15)) };
}

/** Pods take long to end, and a Lease is renewed seldom: the outcome of a restart shows late. */
export function lateOutcomes(dice: Dice): Scene {
  if (dice.chance(0.5)) {
    const rare = { leaseSeconds: 780, renewsEverySeconds: 620 };
    const only = workload("team-0", "app-0", "hangs", rare);
    return {
      workloads: [only],
      objects: [objectFor([only], RESTART)],
      operators: [0],
      happenings: [],
      lastsMs: 180 * MINUTE,
    };
  }
  const program = dice.pick(["ignores-term", "hangs"] as const);
  const only = workload("team-0", "app-0", program, {
    ...{ kind: "StatefulSet", graceSeconds: 900, replicas: dice.pick([1, 2]) },
    ...(program === "hangs" ? { leaseSeconds: 15 } : {}),
  });
  const dead = at(dice, [8, 40], "recreate-account", { on: keyOf(only) });
  return {
    ...{ workloads: [only], operators: [0] },
    objects: [objectFor([only], { tokenRestart: {}, ...RESTART })],
    happenings: program === "hangs" ? [] : [dead],
  };
}

const RESTART = { stallDetection: { onStall: "Restart" } };

/** All of them. */
export const ODD_SCENES: readonly ((dice: Dice) => Scene)[] = [
  ...[stuckRollout, forgers, refusedRenewals, refusedObjects],
  ...[twoAccounts, observer, restoredBreaker],
];
