import type { BudgetPlan, WorkloadPlan } from "../cluster/install";
import { PROGRAMS, type ProgramName } from "../programs/library";
import { Dice } from "../time";
import { drawHappenings } from "./fate";
import { drawDue } from "./odd-scenes";
import { drawObjects } from "./objects";
import type { BindingPlan, Plan, Size } from "./plan";
import { reserved } from "./scene-parts";
import { drawScene } from "./scenes";

// Which worlds there are. Each part has its own luck, so that a part that is left out does not change the others.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The most that a world of a size has. */
export interface Bounds {
  readonly namespaces: number;
  readonly workloads: number;
  readonly nodes: number;
  readonly operators: number;
  readonly servers: number;
  /** Troubles of programs, faults of the machinery, deeds of people, tools that stay, and what is rare. */
  readonly troubles: number;
  readonly faults: number;
  readonly deeds: number;
  readonly tools: number;
  readonly oddities: number;
  /** Programs whose work may be due, and what happens to that. */
  readonly handlers: number;
  readonly work: number;
}

const BOUNDS: Readonly<Record<Size, Bounds>> = {
  small: {
    ...{ namespaces: 2, workloads: 6, nodes: 3, operators: 2, servers: 2 },
    ...{ troubles: 3, faults: 4, deeds: 2, tools: 1, oddities: 2, handlers: 0, work: 0 },
  },
  medium: {
    ...{ namespaces: 6, workloads: 30, nodes: 8, operators: 3, servers: 3 },
    ...{ troubles: 8, faults: 8, deeds: 6, tools: 3, oddities: 4, handlers: 3, work: 2 },
  },
  wide: {
    ...{ namespaces: 15, workloads: 100, nodes: 50, operators: 3, servers: 3 },
    ...{ troubles: 20, faults: 10, deeds: 20, tools: 10, oddities: 10, handlers: 8, work: 4 },
  },
  "bad-day": {
    ...{ namespaces: 3, workloads: 10, nodes: 5, operators: 3, servers: 3 },
    ...{ troubles: 10, faults: 20, deeds: 10, tools: 3, oddities: 5, handlers: 2, work: 2 },
  },
};

/** What else happens in a scene. */
const BESIDE_A_SCENE = { ...BOUNDS.small, troubles: 0, faults: 1, deeds: 1, tools: 0, oddities: 0 };

/** Returns the world of a seed: the same for the same seed, size and length. */
export function generate(seed: number, size: Size, hours = 2): Plan {
  const bounds = BOUNDS[size];
  const dice = new Dice(seed).fork(size);
  const lastsMs = hours * HOUR;
  const usual = workloadsOf(dice.fork("workloads"), bounds);
  const namespaces = [...new Set(usual.map(({ namespace }) => namespace))];
  const bindings = bindingsOf(dice.fork("bindings"), usual, lastsMs);
  const due = drawDue(dice.fork("due"), dice.fork("handlers").int(bounds.handlers + 1));
  const workloads = [...usual, ...due.workloads];
  const objects = [...drawObjects(dice.fork("objects"), namespaces, usual), ...due.objects];
  const operators = Array.from({ length: atLeastOne(dice.fork("operators"), bounds.operators) }, (_, at) =>
    offsetOf(dice.fork(`offset ${at}`)),
  );
  const servers = atLeastOne(dice.fork("servers"), bounds.servers);
  const nodes = Math.ceil(bounds.nodes * dice.fork("nodes").between(0.3, 1));
  const quiet = { seed, lastsMs, servers, operators, nodes, workloads, objects, bindings };
  const scene = size === "small" ? drawScene(dice.fork("scene")) : undefined;
  if (scene === undefined) return { ...quiet, happenings: drawHappenings(dice.fork("happenings"), quiet, bounds) };
  const staged = { ...quiet, bindings: [], ...scene };
  const more = drawHappenings(dice.fork("happenings"), staged, BESIDE_A_SCENE);
  return { ...staged, happenings: [...scene.happenings, ...more].sort((a, b) => a.atMs - b.atMs) };
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

/** Of the others some live in scenes or regressions alone. */
const ANY = PROGRAMS.filter(
  name => !["writes-in-parts", "other-cluster-late", "exits-seldom"].includes(name) && !name.startsWith("widgets"),
);

const KINDS = ["Deployment", "Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet"] as const;

function workloadsOf(dice: Dice, bounds: Bounds): WorkloadPlan[] {
  const count = Math.max(2, Math.round(bounds.workloads * dice.between(0.5, 1)));
  return Array.from({ length: count }, (_, at) => workloadOf(dice.fork(`workload ${at}`), at, bounds));
}

function workloadOf(luck: Dice, at: number, { namespaces }: Bounds): WorkloadPlan {
  const program = luck.chance(0.65) ? luck.pick(COMMON) : luck.pick(ANY);
  const isAgent = program.startsWith("cni-") || program === "kubelet-only";
  const needsLease = program.startsWith("hangs") || program === "loses-lease";
  const kind = isAgent ? "DaemonSet" : luck.pick(KINDS);
  return {
    namespace: isAgent ? "kube-system" : `team-${luck.int(namespaces)}`,
    name: `${isAgent ? "agent" : nameOf(program, luck)}-${at}`,
    ...{ kind, program },
    replicas: luck.pick([1, 1, 2, 2, 3, 5]),
    ...(needsLease || luck.chance(0.4) ? { leaseSeconds: luck.pick([15, 15, 30, 60]) } : {}),
    ...specialsOf(luck.fork("specials"), kind),
    ...shardOf(luck, kind),
  };
}

/** Programs of some pods of a StatefulSet, whose successors have the same work: what is true of them is not of the others. */
const SHARDS: readonly ProgramName[] = [
  ...(["other-cluster", "other-cluster", "noisy", "copies-token", "client-go-old"] as const),
  ...(["silent", "loses-lease", "crashes", "never-ready"] as const),
];

function shardOf(luck: Dice, kind: WorkloadPlan["kind"]): Pick<WorkloadPlan, "shard"> {
  const isSharded = kind === "StatefulSet" && luck.fork("ordinals").chance(0.3);
  return isSharded ? { shard: luck.fork("shard").pick(SHARDS) } : {};
}

/** Some that flood have the name of a component of the cluster, which is never throttled. */
function nameOf(program: ProgramName, luck: Dice): string {
  return program === "floods" && luck.fork("name").chance(0.4) ? "webhook" : "app";
}

/** What a budget may say; the last ones allow nothing. */
const BUDGETS: readonly BudgetPlan[] = [
  ...[{ minAvailable: 1 }, { minAvailable: "50%" }, { maxUnavailable: 1 }, { maxUnavailable: "50%" }],
  ...[{ minAvailable: "100%" }, { maxUnavailable: 0 }],
];

/** Programs that talk beside another one, as proxies do. */
const SIDECARS: readonly ProgramName[] = ["noisy", "noisy", "other-cluster", "silent", "client-go-new"];

function specialsOf(luck: Dice, kind: WorkloadPlan["kind"]): Partial<WorkloadPlan> {
  return {
    ...(luck.chance(0.25) ? { budgets: luck.chance(0.1) ? BUDGETS.slice(0, 2) : [luck.pick(BUDGETS)] } : {}),
    ...(luck.chance(0.06) ? { isSkipped: true } : {}),
    ...(luck.chance(0.15) ? { sidecar: luck.pick(SIDECARS) } : {}),
    ...(luck.chance(0.2) ? { tokenSeconds: luck.pick([600, 3600, 86_400]) } : {}),
    ...(luck.fork("grace").chance(0.08) ? { graceSeconds: 900 } : {}),
    ...ROLLOUTS[kind](luck),
  };
}

/** How workloads of a kind are rolled out. */
const ROLLOUTS: Readonly<Record<WorkloadPlan["kind"], (luck: Dice) => Partial<WorkloadPlan>>> = {
  Deployment: luck => ({
    ...(luck.chance(0.15) ? { maxUnavailable: luck.pick([1, 2, "30%"]) } : {}),
    ...(luck.chance(0.04) ? { isPaused: true } : {}),
    ...(luck.chance(0.1) ? { progressDeadlineSeconds: 120 } : {}),
  }),
  StatefulSet: luck => (luck.chance(0.15) ? { updateStrategy: "OnDelete" } : {}),
  DaemonSet: luck => ({
    ...(luck.chance(0.15) ? { updateStrategy: "OnDelete" } : {}),
    ...(luck.chance(0.15) ? { maxUnavailable: luck.pick([1, 2, "30%"]) } : {}),
    ...(luck.chance(0.1) ? { nodeSelector: { "kubernetes.io/hostname": "node-0" } } : {}),
  }),
};

/** Bindings of some workloads' ServiceAccounts that expire: within the world's time, or after it. */
function bindingsOf(dice: Dice, workloads: readonly WorkloadPlan[], lastsMs: number): BindingPlan[] {
  return workloads.flatMap(({ namespace, name }) => {
    const luck = dice.fork(name);
    if (namespace === "kube-system" || !luck.chance(0.25)) return [];
    const lifeMs = luck.pick([2 * HOUR, 8 * HOUR, 30 * DAY]);
    const expiresMs = Math.round(luck.between(10 * MINUTE, 1.5 * lastsMs));
    const consents = luck.chance(0.6);
    return [{ namespace, name: `${name}-expiring`, account: name, expiresMs, lifeMs, consents, ...reserved(luck) }];
  });
}
