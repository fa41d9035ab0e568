import { PROGRAMS, type ProgramName } from "../programs/library";
import { Dice } from "../time";
import type { BindingPlan, Happening, ObjectPlan, Plan, Size, WorkloadPlan } from "./plan";

// Which worlds there are. Each part has its own luck, so that a part that is left out does not change the others.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** What a size means. */
interface Bounds {
  readonly namespaces: number;
  readonly workloads: number;
  readonly nodes: number;
  readonly operators: number;
  readonly servers: number;
  /** Troubles of programs, faults of the machinery, and deeds of people. */
  readonly troubles: number;
  readonly faults: number;
  readonly deeds: number;
}

const BOUNDS: Readonly<Record<Size, Bounds>> = {
  small: { namespaces: 2, workloads: 6, nodes: 3, operators: 2, servers: 2, troubles: 3, faults: 4, deeds: 2 },
  medium: { namespaces: 6, workloads: 30, nodes: 8, operators: 3, servers: 3, troubles: 8, faults: 8, deeds: 6 },
  wide: { namespaces: 30, workloads: 300, nodes: 50, operators: 3, servers: 3, troubles: 20, faults: 10, deeds: 20 },
  "bad-day": { namespaces: 3, workloads: 10, nodes: 5, operators: 3, servers: 3, troubles: 10, faults: 20, deeds: 10 },
};

/** Returns the world of a seed: the same for the same seed, size and length. */
export function generate(seed: number, size: Size, hours = 2): Plan {
  const bounds = BOUNDS[size];
  const dice = new Dice(seed).fork(size);
  const lastsMs = hours * HOUR;
  const workloads = workloadsOf(dice.fork("workloads"), bounds);
  const namespaces = [...new Set(workloads.map(({ namespace }) => namespace))];
  const objects = objectsOf(dice.fork("objects"), namespaces, workloads);
  const bindings = bindingsOf(dice.fork("bindings"), workloads, lastsMs);
  const operators = Array.from({ length: atLeastOne(dice.fork("operators"), bounds.operators) }, (_, at) =>
    offsetOf(dice.fork(`offset ${at}`)),
  );
  const servers = atLeastOne(dice.fork("servers"), bounds.servers);
  const parts = { bounds, workloads, objects, bindings, operators, servers, lastsMs };
  return {
    ...{ seed, lastsMs, servers, operators, workloads, objects, bindings },
    nodes: bounds.nodes,
    happenings: happeningsOf(dice.fork("happenings"), parts).sort((a, b) => a.atMs - b.atMs),
  };
}

function atLeastOne(dice: Dice, most: number): number {
  return 1 + dice.int(most);
}

/** Most clocks are nearly right, a few are minutes off. */
function offsetOf(dice: Dice): number {
  return Math.round(dice.chance(0.1) ? dice.between(-300_000, 300_000) : dice.between(-500, 500));
}

/** Programs that work in every world, and what makes trouble by itself, so rarely. */
const COMMON: readonly ProgramName[] = [
  ...(["client-go-old", "client-go-middle", "client-go-new", "controller-runtime", "kopf"] as const),
  ...(["fabric8", "kube-rs", "silent", "copies-token"] as const),
];

const KINDS = ["Deployment", "Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet"] as const;

function workloadsOf(dice: Dice, bounds: Bounds): WorkloadPlan[] {
  const count = Math.max(2, Math.round(bounds.workloads * dice.between(0.5, 1)));
  return Array.from({ length: count }, (_, at) => workloadOf(dice.fork(`workload ${at}`), at, bounds));
}

function workloadOf(luck: Dice, at: number, { namespaces }: Bounds): WorkloadPlan {
  const program = luck.chance(0.65) ? luck.pick(COMMON) : luck.pick(PROGRAMS);
  const isAgent = program.startsWith("cni-") || program === "kubelet-only";
  const needsLease = program.startsWith("hangs") || program === "loses-lease";
  const kind = isAgent ? "DaemonSet" : luck.pick(KINDS);
  return {
    namespace: isAgent ? "kube-system" : `team-${luck.int(namespaces)}`,
    name: `${isAgent ? "agent" : "app"}-${at}`,
    ...{ kind, program },
    replicas: luck.pick([1, 1, 2, 2, 3, 5]),
    ...(needsLease || luck.chance(0.4) ? { leaseSeconds: 15 } : {}),
    ...specialsOf(luck, kind),
  };
}

function specialsOf(luck: Dice, kind: WorkloadPlan["kind"]): Partial<WorkloadPlan> {
  return {
    ...(luck.chance(0.2) ? { minAvailable: luck.pick<number | string>([1, "50%", "100%"]) } : {}),
    ...(luck.chance(0.06) ? { isSkipped: true } : {}),
    ...(kind === "DaemonSet" && luck.chance(0.15) ? { updateStrategy: "OnDelete" } : {}),
    ...(luck.chance(0.15) ? { tokenSeconds: luck.pick([600, 3600, 86_400]) } : {}),
  };
}

/** Per namespace: an object with selectors, one with names, or two that overlap; sometimes one for all namespaces. */
function objectsOf(dice: Dice, namespaces: readonly string[], workloads: readonly WorkloadPlan[]): ObjectPlan[] {
  const objects = namespaces.flatMap(namespace => {
    const luck = dice.fork(namespace);
    const inside = workloads.filter(workload => workload.namespace === namespace);
    const all = inside.map(({ kind, name }) => ({ kind, name }));
    const targets = luck.chance(0.5) ? all : selectors(inside);
    const first = { namespace, name: "main", spec: { targets, ...blocks(luck.fork("main"), inside) } };
    const other = { namespace, name: "second", spec: { targets: all.slice(0, 1), ...blocks(luck.fork("2"), inside) } };
    return luck.chance(0.15) ? [first, other] : [first];
  });
  if (!dice.chance(0.2)) return objects;
  const template = { tokenRestart: {}, stallDetection: { onStall: dice.pick(["Report", "Restart"]) } };
  return [...objects, { name: "everything", spec: { template } }];
}

function selectors(inside: readonly WorkloadPlan[]): object[] {
  const kinds = [...new Set(inside.map(({ kind }) => kind))];
  return kinds.map(kind => ({ kind, selector: { matchLabels: { protect: "yes" } } }));
}

function blocks(dice: Dice, inside: readonly WorkloadPlan[]): object {
  const hasSets = inside.some(({ kind }) => kind === "DaemonSet");
  return {
    ...(dice.chance(0.1) ? { mode: "Observe" } : {}),
    ...(dice.chance(0.9) ? { tokenRestart: restartBlock(dice.fork("restart")) } : {}),
    ...(dice.chance(0.5) ? { stallDetection: { onStall: dice.pick(["Report", "Restart"]) } } : {}),
    ...(dice.chance(0.4) ? { bindingRenewal: { renewBefore: "1h", warnBefore: "2h", extendBy: "4h" } } : {}),
    ...(hasSets && dice.chance(0.4) ? { tokenLifetime: {} } : {}),
    ...(dice.chance(0.3) ? { flowIsolation: { requestRate: { onRunaway: dice.pick(["Report", "Throttle"]) } } } : {}),
  };
}

function restartBlock(dice: Dice): object {
  return {
    ...(dice.chance(0.3) ? { cooldown: dice.pick(["30s", "2m", "10m"]) } : {}),
    ...(dice.chance(0.3) ? { maxUnavailable: dice.pick([1, 2, 5]) } : {}),
    ...(dice.chance(0.2) ? { maxRestarts: dice.pick([1, 2, 20]) } : {}),
    ...(dice.chance(0.15) ? { evidence: dice.pick([["Logs"], ["ServiceAccountAge"], ["Logs", "SandboxEvents"]]) } : {}),
  };
}

/** Bindings of some workloads' ServiceAccounts that expire: within the world's time, or after it. */
function bindingsOf(dice: Dice, workloads: readonly WorkloadPlan[], lastsMs: number): BindingPlan[] {
  return workloads.flatMap(({ namespace, name }) => {
    const luck = dice.fork(name);
    if (namespace === "kube-system" || !luck.chance(0.25)) return [];
    const lifeMs = luck.pick([2 * HOUR, 8 * HOUR, 30 * DAY]);
    const expiresMs = Math.round(luck.between(10 * MINUTE, 1.5 * lastsMs));
    return [{ namespace, name: `${name}-expiring`, account: name, expiresMs, lifeMs, consents: luck.chance(0.6) }];
  });
}

interface Parts {
  readonly bounds: Bounds;
  readonly workloads: readonly WorkloadPlan[];
  readonly objects: readonly ObjectPlan[];
  readonly bindings: readonly BindingPlan[];
  readonly operators: readonly number[];
  readonly servers: number;
  readonly lastsMs: number;
}

/** Everything that is broken is whole again in the last 40 % of the time: what can heal must heal by then. */
const TROUBLE_UNTIL = 0.6;

/** Returns a happening at some moment, or none where a world has nothing for it to happen to. */
type Kind = (dice: Dice, parts: Parts) => Omit<Happening, "atMs"> | undefined;

const minutes = (dice: Dice, low: number, high: number): number => Math.round(dice.between(low, high) * MINUTE);
const keyOf = ({ namespace = "", name }: { readonly namespace?: string; readonly name: string }): string =>
  `${namespace}/${name}`;
const someOf = <T>(dice: Dice, list: readonly T[]): T | undefined => (list.length === 0 ? undefined : dice.pick(list));

function onWorkload(what: string, last?: readonly [number, number]): Kind {
  return (dice, { workloads }) => ({
    what,
    on: keyOf(dice.pick(workloads)),
    ...(last === undefined ? {} : { forMs: minutes(dice, ...last) }),
  });
}

function onOne(what: string, list: (parts: Parts) => readonly string[], last?: readonly [number, number]): Kind {
  return (dice, parts) => {
    const on = someOf(dice, list(parts));
    return on === undefined
      ? undefined
      : { what, on, ...(last === undefined ? {} : { forMs: minutes(dice, ...last) }) };
  };
}

const ofAll =
  (what: string, last?: readonly [number, number], amount?: (dice: Dice) => number): Kind =>
  dice => ({
    what,
    ...(last === undefined ? {} : { forMs: minutes(dice, ...last) }),
    ...(amount === undefined ? {} : { amount: amount(dice) }),
  });

const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => String(at));
const operatorsOf = ({ operators }: Parts): string[] => numbers(operators.length);
const serversOf = ({ servers }: Parts): string[] => numbers(servers);
const objectsIn = ({ objects }: Parts): string[] => objects.filter(one => one.namespace !== undefined).map(keyOf);
const bindingsIn = ({ bindings }: Parts): string[] => bindings.map(keyOf);

const TROUBLES: readonly Kind[] = [
  ...Array.from({ length: 5 }, () => onWorkload("recreate-account")),
  onWorkload("delete-account", [2, 20]),
  ofAll("rotate-key"),
  ofAll("rotate-key", undefined, () => 1),
  onOne("rotate-key-of-one-server", serversOf, [2, 15]),
  onWorkload("revoke-access", [5, 40]),
  ofAll("refuse-tokens", [1, 8]),
];

const FAULTS: readonly Kind[] = [
  ofAll("request-errors", [1, 25], dice => dice.between(0.02, 0.5)),
  ofAll("request-errors", [1, 25], dice => dice.between(0.02, 0.5)),
  ofAll("silence", [0.2, 3]),
  ofAll("slow-answers", [1, 10], dice => dice.between(500, 20_000)),
  onOne("server-down", serversOf, [0.5, 10]),
  onOne("server-lags", serversOf, [1, 10]),
  ofAll("watches-break"),
  ofAll("watches-silent", [1, 10]),
  onOne("operator-killed", operatorsOf),
  onOne("operator-killed", operatorsOf),
  onOne("operator-frozen", operatorsOf, [0.2, 5]),
  onOne("operator-cut-off", operatorsOf, [0.5, 10]),
  (dice, parts) => ({
    what: "clock-jumps",
    on: dice.pick(operatorsOf(parts)),
    amount: dice.between(-200_000, 200_000),
  }),
  ofAll("lease-deleted"),
  ofAll("node-away", [1, 15]),
  ofAll("node-joins"),
  onOne("evictions-refused", parts => [...new Set(parts.workloads.map(({ namespace }) => namespace))], [5, 30]),
  ofAll("pods-refused", [2, 20]),
];

const DEEDS: readonly Kind[] = [
  onOne("suspend", objectsIn, [5, 30]),
  onOne("observe", objectsIn, [5, 30]),
  onOne("recreate-object", objectsIn, [0.1, 10]),
  onWorkload("skip", [5, 30]),
  onWorkload("roll-out"),
  onWorkload("break-rollout", [5, 40]),
  (dice, { workloads }) => ({ what: "scale", on: keyOf(dice.pick(workloads)), amount: dice.int(6) }),
  onWorkload("delete-pod"),
  onOne("shorten-binding", bindingsIn),
  onOne("extend-binding", bindingsIn),
  onOne("revoke-binding", bindingsIn),
];

function happeningsOf(dice: Dice, parts: Parts): Happening[] {
  const { bounds, lastsMs } = parts;
  const draw = (name: string, kinds: readonly Kind[], most: number): Happening[] =>
    Array.from({ length: dice.fork(name).int(most + 1) }, (_, at) => {
      const luck = dice.fork(`${name} ${at}`);
      const happening = luck.pick(kinds)(luck, parts);
      const atMs = Math.round(luck.between(0.02, TROUBLE_UNTIL) * lastsMs);
      if (happening === undefined) return [];
      const left = TROUBLE_UNTIL * lastsMs - atMs;
      const { forMs } = happening;
      return [{ ...happening, atMs, ...(forMs === undefined ? {} : { forMs: Math.min(forMs, left) }) }];
    }).flat();
  return [
    ...draw("trouble", TROUBLES, bounds.troubles),
    ...draw("fault", FAULTS, bounds.faults),
    ...draw("deed", DEEDS, bounds.deeds),
  ];
}
