import type { WorkloadPlan } from "../cluster/install";
import type { ProgramName } from "../programs/library";
import type { Dice } from "../time";
import { dueWork, lateOutcomes, longRest, ODD_SCENES } from "./odd-scenes";
import type { BindingPlan, Happening } from "./plan";
import { at, CLIENTS, forMinutes, keyOf, objectFor, reserved, type Scene, workload } from "./scene-parts";

// Small worlds that are about one thing: who lives there, and what happens, is drawn so that a slip of the operator does harm in many of them. Whatever
// else happens is drawn as in every world.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Returns the scene of a world, or undefined: every third one is about nothing in particular. */
export function drawScene(dice: Dice): Scene | undefined {
  const due = dice.fork("due");
  if (due.chance(0.08)) return dueWork(due);
  const rested = dice.fork("rested");
  if (rested.chance(0.01)) return longRest(rested);
  const late = dice.fork("late");
  if (late.chance(0.05)) return lateOutcomes(late);
  const odd = dice.fork("peculiar");
  if (odd.chance(0.08)) return odd.pick(ODD_SCENES)(odd);
  if (!dice.chance(0.65)) return undefined;
  const name = dice.pick(Object.keys(SCENES));
  return SCENES[name]!(dice.fork(name));
}

/** Many tokens die at once, in namespaces that act, observe, are paused or have a workload to skip; evictions and their answers are in trouble. */
function deadTokens(dice: Dice): Scene {
  const workloads = [0, 1, 2, 3].map(number =>
    workload(`team-${number}`, `app-${number}`, dice.pick(CLIENTS), {
      replicas: 1 + dice.int(3),
      ...(dice.chance(0.2) ? { isSkipped: true } : {}),
    }),
  );
  const odd = dice.pick([{}, { mode: "Observe" }, { suspend: true }]);
  const objects = workloads.map((one, number) => objectFor([one], { tokenRestart: {}, ...(number === 3 ? odd : {}) }));
  if (dice.fork("refused").chance(0.2))
    return { workloads, objects, happenings: refusals(dice.fork("refusals"), workloads) };
  const death = dice.chance(0.5)
    ? workloads.map(one => at(dice, [5, 8], "recreate-account", { on: keyOf(one) }))
    : [at(dice, [5, 8], "rotate-key", { amount: 0 })];
  const trouble = [
    [at(dice, [4, 5], "answers-lost", { ...forMinutes(10), amount: 0.5 })],
    [at(dice, [4, 5], "slow-answers", { ...forMinutes(8), amount: 4_000 })],
    [at(dice, [4, 7], "pods-refused", forMinutes(45))],
    [at(dice, [2, 3], "watches-silent", forMinutes(6)), at(dice, [3, 4], "watches-break")],
    [at(dice, [2, 4], "watches-break")],
  ];
  const clocks = dice.chance(0.15) ? { operators: [Math.round(dice.between(70_000, 300_000))] } : {};
  return {
    ...{ workloads, objects, ...clocks },
    happenings: [...death, ...(dice.chance(0.7) ? dice.pick(trouble) : [])],
  };
}

/** Tokens die again and again, evictions are refused, writes of status fail, and others delete the pods. */
function refusals(dice: Dice, workloads: readonly WorkloadPlan[]): Happening[] {
  return [
    at(dice, [4, 5], "statuses-fail", { ...forMinutes(40), amount: 0.4 }),
    ...workloads.flatMap(one => [
      at(dice, [1, 2], "evictions-refused", { on: one.namespace, ...forMinutes(45) }),
      ...[6, 14, 22, 30].flatMap(minute => [
        at(dice, [minute, minute + 1], "recreate-account", { on: keyOf(one) }),
        at(dice, [minute + 3, minute + 6], "delete-pod", { on: keyOf(one) }),
      ]),
    ]),
  ];
}

/** What holds back restarts that do not help. */
const WAYS = ["limits", "witness", "refused", "limits", "recreated", "witness", "recreated", "limits"];

/** Restarts do not help: another cluster refuses, or all API servers refuse valid tokens, or Leases are lost again and again. */
function inVain(dice: Dice): Scene {
  const way = dice.pick(WAYS);
  const third = dice.pick(["other-cluster", "hangs-again"] as const);
  if (way !== "witness" && dice.fork("alone").chance(0.2)) return vainAndReset(dice.fork("reset"));
  const isLate = dice.fork("late").chance(0.2);
  const programs = vainPrograms(dice, { isRefused: way === "refused", isLate, third });
  const workloads = programs.map((program, number) =>
    workload(`team-${number % 2}`, `app-${number}`, program, {
      replicas: isLate ? 1 : 1 + dice.int(2),
      ...(program === "hangs-again" ? { leaseSeconds: 15 } : {}),
    }),
  );
  const limits = way === "recreated" ? { cooldown: "1h" } : dice.pick([{}, { cooldown: "30s" }, { maxRestarts: 1 }]);
  const blocks = { tokenRestart: limits, stallDetection: { onStall: "Restart" } };
  const objects = ["team-0", "team-1"].map(namespace =>
    objectFor(
      workloads.filter(one => one.namespace === namespace),
      blocks,
    ),
  );
  const again = objects.map(one => at(dice, [12, 40], "recreate-object", { on: keyOf(one), ...forMinutes(0.5) }));
  const refused = at(dice, [5, 10], "refuse-tokens", forMinutes(dice.between(15, 25)));
  const happenings = way === "refused" ? [refused] : again;
  return {
    ...{ workloads, objects, servers: way === "witness" && !isLate ? 2 : 1 },
    happenings: way === "refused" || way === "recreated" ? happenings : [],
  };
}

function vainPrograms(
  dice: Dice,
  { isRefused, isLate, third }: { readonly isRefused: boolean; readonly isLate: boolean; readonly third: ProgramName },
): readonly ProgramName[] {
  if (isRefused) return [0, 1, 2].map(() => dice.pick(CLIENTS));
  const other = isLate ? "other-cluster-late" : "other-cluster";
  return [other, other, isLate ? other : third];
}

/** One workload alone is restarted in vain, and a person resets the breaker. */
function vainAndReset(dice: Dice): Scene {
  const only = workload("team-0", "app-0", "other-cluster");
  const limits = dice.pick([{}, { cooldown: "30s" }, { cooldown: "30s", maxRestarts: 10 }]);
  const resets = [40, 60, 80].map(minute => at(dice, [minute, minute + 15], "breaker-reset"));
  return { workloads: [only], objects: [objectFor([only], { tokenRestart: limits })], servers: 1, happenings: resets };
}

/** Leases stand still: a hung process, lost access, a person who only wants to know. */
function standingLeases(dice: Dice): Scene {
  const [stuck, denied, told] = [
    workload("team-0", "app-0", "hangs", { leaseSeconds: 15, replicas: 2 }),
    workload("team-0", "app-1", dice.pick(CLIENTS), { leaseSeconds: 15 }),
    workload("team-1", "app-2", dice.pick(["hangs", "hangs-again"]), { leaseSeconds: 15, sidecar: "writes-in-parts" }),
  ];
  const restart = { stallDetection: { onStall: "Restart" }, ...(dice.chance(0.5) ? { tokenRestart: {} } : {}) };
  return {
    workloads: [stuck, denied, told],
    objects: [
      objectFor([stuck, denied], restart),
      objectFor([told], { tokenRestart: {}, stallDetection: { onStall: "Report" } }),
    ],
    happenings: [at(dice, [12, 20], "revoke-access", { on: keyOf(denied), ...forMinutes(30) })],
  };
}

/** Bindings that expire soon, have expired, are shortened, asked for or not, named or not. */
function expiringBindings(dice: Dice): Scene {
  const workloads = [0, 1, 2, 3].map(number => workload(`team-${number % 2}`, `app-${number}`, "silent"));
  const bindings: BindingPlan[] = workloads.map(({ namespace, name }, number) => ({
    ...{ namespace, name: `${name}-expiring`, account: name },
    expiresMs: Math.round(dice.chance(0.2) ? -dice.between(1, 600) * MINUTE : dice.between(40, 100) * MINUTE),
    lifeMs: 2 * HOUR,
    consents: number === 0 || dice.chance(0.6),
    ...(number === 0 ? {} : reserved(dice.fork(name))),
  }));
  const spec = (number: number): object => ({
    ...{ renewBefore: dice.pick(["1h", "50m"]), warnBefore: "2h" },
    ...(dice.chance(0.7) ? { extendBy: dice.pick(["4h", "24h"]) } : {}),
    ...(dice.chance(0.4) ? { renewUntil: dice.pick(["2026-01-05T09:30:00Z", "2026-01-05T10:00:00Z"]) } : {}),
    ...(dice.chance(0.4) ? { bindings: [{ kind: "RoleBinding", name: `app-${number}-expiring` }] } : {}),
  });
  const objects = [0, 1].map(number =>
    objectFor(
      workloads.filter((_, at) => at % 2 === number),
      { bindingRenewal: spec(number) },
    ),
  );
  const on = keyOf(bindings[dice.int(2)]!);
  const happenings = [
    at(dice, [8, 20], "mistype-expiry", { on, ...forMinutes(30) }),
    at(dice, [8, 30], "shorten-binding", { on }),
    at(dice, [8, 30], "withdraw-consent", { on, ...forMinutes(60) }),
    at(dice, [8, 20], "revoke-binding", { on }),
  ];
  return { workloads, objects, bindings, happenings: dice.chance(0.7) ? [dice.pick(happenings)] : [] };
}

/** Shorter tokens are tried, by several objects; some agents keep their first one, and what is tried changes meanwhile. */
function trials(dice: Dice): Scene {
  const programs = [
    dice.pick(["copies-token", "client-go-old", "client-go-new"] as const),
    dice.pick(["cni-thin", "kubelet-only"] as const),
  ];
  const isAlone = dice.fork("alone").chance(0.4);
  const workloads = programs.slice(0, isAlone ? 1 : 2).map((program, number) =>
    workload(number === 0 ? "team-0" : "kube-system", number === 0 ? "app-0" : "agent-1", program, {
      kind: "DaemonSet",
    }),
  );
  if (dice.fork("version").chance(0.15)) return laterVersion(dice.fork("version"));
  if (dice.fork("crowd").chance(0.15)) return crowd(dice.fork("moment"));
  const lifetime = dice.fork("short").chance(0.4) ? { expirationSeconds: 600 } : {};
  const objects = workloads.map(one => objectFor([one], { tokenLifetime: lifetime }));
  if (dice.fork("missing").chance(0.15))
    return {
      workloads,
      objects: objects.slice(0, 1),
      nodes: 3,
      happenings: missingPod(dice.fork("missing"), workloads[0]!),
    };
  const [on] = objects.map(keyOf);
  const trouble = [
    [
      at(dice, [1, 1.4], "evictions-refused", { on: workloads[0]!.namespace, ...forMinutes(6) }),
      at(dice, [3, 4], "node-away", forMinutes(20)),
    ],
    objects.map(one => at(dice, [4, 10], "delete-object", { on: keyOf(one) })),
    [at(dice, [4, 10], "mistype-targets", { on: on!, ...forMinutes(5) })],
    [at(dice, [12, 15], "break-rollout", { on: keyOf(workloads[0]!), ...forMinutes(40) })],
    [at(dice, [4, 14], "rolling-updates", { on: keyOf(workloads[0]!) })],
    [at(dice, [1, 1.4], "slow-answers", { ...forMinutes(8), amount: 4_000 })],
    leadReturns(dice.chance(0.9) ? on! : keyOf(objects.at(-1)!)),
  ];
  return {
    ...{ workloads, objects, nodes: 3, operators: [0, 0] },
    happenings: dice.chance(0.8) ? dice.pick(trouble) : [],
  };
}

/** All pods have shorter tokens, which the next version of the agent does not survive. */
function laterVersion(dice: Dice): Scene {
  const only = workload("team-0", "app-0", "client-go-new", { kind: "DaemonSet" });
  const objects = [objectFor([only], { tokenLifetime: { expirationSeconds: 600 } })];
  const next = at(dice, [18, 30], "keeps-token", { on: keyOf(only), ...forMinutes(80) });
  return { workloads: [only], objects, nodes: 2, operators: [0], happenings: [next] };
}

/** When the first pod of a trial may be replaced at last, another one is missing. */
function missingPod(dice: Dice, tried: WorkloadPlan): Happening[] {
  const { namespace } = tried;
  return [
    at(dice, [1, 1.4], "evictions-refused", { on: namespace, ...forMinutes(6) }),
    at(dice, [3, 3.5], "pods-refused-in", { on: namespace, ...forMinutes(25) }),
    at(dice, [3.6, 4], "delete-pod", { on: keyOf(tried) }),
  ];
}

/** Many DaemonSets could begin their trials in one moment. */
function crowd(dice: Dice): Scene {
  const workloads = [0, 1, 2, 3].map(number =>
    workload(`team-${number}`, `app-${number}`, "client-go-new", { kind: "DaemonSet" }),
  );
  const objects = workloads.map(one => objectFor([one], { tokenLifetime: {} }));
  const slow = at(dice, [1, 1.4], "slow-answers", { ...forMinutes(12), amount: dice.pick([4_000, 9_000]) });
  return { workloads, objects, nodes: 1, happenings: [slow] };
}

/** An object is deleted while the other replica leads, and the lead returns before that one has begun anything else. */
function leadReturns(on: string): Happening[] {
  return [
    { atMs: 5 * MINUTE, what: "operator-cut-off", on: "0", ...forMinutes(4) },
    { atMs: 11 * MINUTE - 3_000, what: "delete-object", on },
    { atMs: 11 * MINUTE, what: "operator-cut-off", on: "1", ...forMinutes(4) },
  ];
}

/** Clients flood, some of them components of the cluster; what throttles them is suspended, deleted, or only reports. */
function floods(dice: Dice): Scene {
  const workloads = [
    workload("team-0", "app-0", "floods"),
    workload("team-0", "webhook-1", "floods", { replicas: 1 + dice.int(2) }),
    workload("team-1", "app-2", "floods"),
  ];
  const limits = { ...(dice.chance(0.5) ? { release: "1m" } : {}), ...(dice.chance(0.3) ? { for: "10s" } : {}) };
  const flows = (onRunaway: string): object => ({ flowIsolation: { requestRate: { onRunaway, ...limits } } });
  const objects = [
    objectFor(workloads.slice(0, 2), flows("Throttle")),
    objectFor(workloads.slice(2), flows(dice.pick(["Report", "Throttle"]))),
  ];
  const on = keyOf(objects[0]!);
  if (dice.fork("long").chance(0.15)) return longFlood(workloads[0]!, dice.fork("long"));
  const trouble = [
    at(dice, [8, 30], "recreate-object", { on, ...forMinutes(3) }),
    at(dice, [8, 30], "delete-object", { on }),
    at(dice, [2, 10], "recreate-workload", { on: keyOf(workloads[1]!), ...forMinutes(3) }),
    at(dice, [4, 8], "flows-refused", forMinutes(20)),
  ];
  return { workloads, objects, servers: 1, happenings: dice.chance(0.7) ? [dice.pick(trouble)] : [] };
}

/** A client floods again after each throttle, until it is given up and a person changes the object. */
function longFlood(only: WorkloadPlan, dice: Dice): Scene {
  const requestRate = { onRunaway: "Throttle", release: "1m", for: "10s" };
  const objects = [objectFor([only], { flowIsolation: { requestRate } })];
  const text = "flowIsolation.requestRate.threshold=200";
  const edited = at(dice, [75, 90], "field-edited", { on: keyOf(objects[0]!), text, ...forMinutes(20) });
  return { workloads: [only], objects, servers: 1, operators: [0], happenings: [edited] };
}

/** A leader cannot renew its Lease. */
const AWAY = ["operator-cut-off", "operator-frozen", "lease-unreachable"];

/** The lead changes again and again while there is something to write. */
function changingLead(dice: Dice): Scene {
  const workloads = [0, 1].map(number =>
    workload(`team-${number}`, `app-${number}`, dice.pick(CLIENTS), { replicas: 2 }),
  );
  const objects = workloads.map(one => objectFor([one], { tokenRestart: {} }));
  const changes = [10, 20, 30, 40].flatMap(minute => {
    const more = { on: String(dice.int(2)), ...forMinutes(dice.between(1, 4)) };
    const away = at(dice, [minute, minute + 2], dice.pick(AWAY), more);
    const lost = { atMs: away.atMs + 500, what: dice.pick(["lease-deleted", "lease-wiped"]) };
    return [
      ...[away, ...(dice.chance(0.5) ? [lost] : [])],
      at(dice, [minute - 1, minute + 3], "recreate-account", { on: keyOf(dice.pick(workloads)) }),
    ];
  });
  const slow = at(dice, [2, 5], "slow-answers", { ...forMinutes(40), amount: 5_000 });
  return { workloads, objects, operators: [0, 100], happenings: [...changes, ...(dice.chance(0.5) ? [slow] : [])] };
}

/** An object for all namespaces, which enforces in some and excludes others, beside one that a person wrote. In some a typo would end it for most. */
function forTheCluster(dice: Dice): Scene {
  const few = [0, 1, 2].flatMap(number => [
    workload(`team-${number}`, `app-${number}`, dice.pick(CLIENTS)),
    workload(`team-${number}`, `more-${number}`, dice.pick(CLIENTS)),
  ]);
  const luck = dice.fork("typo");
  const hasTypo = luck.chance(0.4);
  const many = Array.from({ length: hasTypo ? 10 : 0 }, (_, number) =>
    workload(`team-${number % 2}`, `also-${number}`, luck.pick(CLIENTS)),
  );
  const typo = hasTypo ? [at(luck, [40, 60], "cluster-mistyped", { on: "/everything", ...forMinutes(20) })] : [];
  const workloads = [...few, ...many];
  const team = { matchLabels: { team: "team-0" } };
  const spec = {
    ...dice.pick([{ mode: "Enforce" }, { mode: "Observe", enforce: { namespaceSelector: team } }]),
    ...(dice.chance(0.5) ? { excludeNamespaces: ["team-2", "ci-*"] } : {}),
    template: { tokenRestart: {} },
  };
  const own = objectFor([workloads[2]!], { tokenRestart: {}, ...(dice.chance(0.5) ? { mode: "Observe" } : {}) });
  const deaths = few.map(one => at(dice, [10, 30], "recreate-account", { on: keyOf(one) }));
  return {
    workloads,
    objects: [own, { name: "everything", spec }],
    happenings: [...deaths.slice(0, 1 + dice.int(6)), ...typo],
  };
}

const SCENES: Readonly<Record<string, (dice: Dice) => Scene>> = {
  deadTokens,
  inVain,
  standingLeases,
  expiringBindings,
  trials,
  floods,
  changingLead,
  forTheCluster,
};
