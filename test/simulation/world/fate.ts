import type { Dice } from "../time";
import { DEEDS, TOOLS } from "./deeds";
import { handlesWidgets } from "../cluster/install";
import type { Bounds } from "./generate";
import type { Kinds, Subject } from "./kind";
import { FAULTS } from "./machinery";
import { ODDITIES } from "./oddities";
import type { Happening, Plan } from "./plan";
import { TROUBLES } from "./troubles";
import { WORK } from "./widgets";

// What happens to a generated world.

/** Everything that is broken is whole again in the last 40 % of the time: what can heal must heal by then. */
const TROUBLE_UNTIL = 0.6;

/** With inhabitants that every few worlds have. */
const RARE: Kinds = {
  ...ODDITIES,
  "large-object": { ...DEEDS["large-object"]!, weight: 2 },
  "refusing-server": { ...FAULTS["refusing-server"]!, weight: 2 },
};

/** Draws some troubles, faults, deeds and tools, in the order of their times. */
export function drawHappenings(dice: Dice, plan: Omit<Plan, "happenings">, bounds: Bounds): Happening[] {
  const draw = (name: string, kinds: Kinds, most: number, of = plan): Happening[] =>
    Array.from({ length: dice.fork(name).int(most + 1) }, (_, at) =>
      drawOne(dice.fork(`${name} ${at}`), kinds, of),
    ).flat();
  return [
    ...draw("trouble", TROUBLES, bounds.troubles),
    ...draw("fault", FAULTS, bounds.faults),
    ...draw("deed", DEEDS, bounds.deeds),
    ...draw("tool", TOOLS, bounds.tools),
    ...draw("oddity", RARE, bounds.oddities),
    ...draw("work", WORK, bounds.work, { ...plan, workloads: plan.workloads.filter(handlesWidgets) }),
  ].sort((a, b) => a.atMs - b.atMs);
}

/** Nothing, if the world has nothing for it to happen to. */
function drawOne(dice: Dice, kinds: Kinds, plan: Omit<Plan, "happenings">): Happening[] {
  const what = dice.pick(Object.keys(kinds).flatMap(name => Array<string>(kinds[name]!.weight ?? 1).fill(name)));
  const { on: subject, lasts, amount, text } = kinds[what]!;
  const endMs = TROUBLE_UNTIL * plan.lastsMs;
  const atMs = Math.round(dice.between(0.02, TROUBLE_UNTIL) * plan.lastsMs);
  const subjects = subject === undefined ? [undefined] : subjectsOf(plan, subject);
  if (subjects.length === 0) return [];
  const on = dice.pick(subjects);
  const forMs = lasts && Math.round(Math.min(dice.between(...lasts) * 60_000, endMs - atMs));
  return [
    {
      ...{ atMs, what },
      ...(on === undefined ? {} : { on }),
      ...(forMs === undefined ? {} : { forMs }),
      ...(amount === undefined ? {} : { amount: amount(dice) }),
      ...(text === undefined ? {} : { text: text(dice) }),
    },
  ];
}

/** All that a kind of happening can happen to, as plans name it. */
export function subjectsOf(plan: Omit<Plan, "happenings">, subject: Subject): string[] {
  const keys = (list: readonly { readonly namespace?: string; readonly name: string }[]): string[] =>
    list.map(({ namespace = "", name }) => `${namespace}/${name}`);
  const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => String(at));
  const ofKind = (kinds: readonly string[]): string[] =>
    keys(plan.workloads.filter(({ kind }) => kinds.includes(kind)));
  const namespaces = [...new Set(plan.workloads.map(({ namespace }) => namespace))];
  const subjects: Readonly<Record<Subject, () => string[]>> = {
    workload: () => keys(plan.workloads),
    Deployment: () => ofKind(["Deployment"]),
    DaemonSet: () => ofKind(["DaemonSet"]),
    "workload with replicas": () => ofKind(["Deployment", "StatefulSet"]),
    object: () => keys(plan.objects.filter(({ namespace }) => namespace !== undefined)),
    "cluster object": () => keys(plan.objects.filter(({ namespace }) => namespace === undefined)),
    binding: () => keys(plan.bindings),
    namespace: () => namespaces,
    tenant: () => namespaces.filter(name => name !== "kube-system"),
    server: () => numbers(plan.servers),
    operator: () => numbers(plan.operators.length),
  };
  return subjects[subject]();
}
