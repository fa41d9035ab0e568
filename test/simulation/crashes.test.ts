import { expect, it } from "vitest";
import type { ControllerResilience } from "../../src/api/controller-resilience";
import type { WorkloadPlan } from "./cluster/install";
import { isWrite } from "./server/journal";
import { Dice } from "./time";
import { schedule } from "./world/happenings";
import type { Happening, Plan } from "./world/plan";
import { World } from "./world/world";

// The operator is killed before and after each of its writes. The process that leads next comes to the same end, does nothing twice, and then rests
// (docs/reliability.md, promises 1 to 3).

const MINUTE = 60_000;

/** When something happens to the workload, which the operator knows by then. */
const HAPPENS_MS = 4 * MINUTE;

/** At the end nothing may be written for so long. */
const QUIET_MS = 3 * MINUTE;

/** A world in which the operator has one thing to do. */
interface Scene {
  readonly kind?: WorkloadPlan["kind"];
  readonly blocks: object;
  readonly happens?: Omit<Happening, "atMs">;
  /** Long enough also for an eviction that is recorded, and never sent (docs/adr/0004). */
  readonly minutes: number;
}

const SCENES: Readonly<Record<string, Scene>> = {
  "replaces a pod whose ServiceAccount was recreated": {
    blocks: { tokenRestart: {} },
    happens: { what: "recreate-account", on: "team/app" },
    minutes: 20,
  },
  "tries a shorter token of a DaemonSet": { kind: "DaemonSet", blocks: { tokenLifetime: {} }, minutes: 35 },
  "renews a binding that expires soon": {
    blocks: { bindingRenewal: { bindings: [{ kind: "RoleBinding", name: "temporary" }], extendBy: "24h" } },
    minutes: 12,
  },
  "isolates the requests of a ServiceAccount": { blocks: { flowIsolation: {} }, minutes: 12 },
  "deletes the flows of a deleted object": {
    blocks: { flowIsolation: {} },
    happens: { what: "delete-object", on: "team/main" },
    minutes: 15,
  },
};

/** Where the operator is killed: at a write, by its kind and its number among those of that kind. */
interface Point {
  readonly call: string;
  readonly nth: number;
  readonly moment: "before" | "after";
}

/** What a run came to. */
interface Run {
  /** The kinds of all writes, in their order, but for Leases and Events. */
  readonly calls: readonly string[];
  readonly isKilled: boolean;
  /** How often the API server has done each, but for status. */
  readonly done: Readonly<Record<string, number>>;
  readonly end: unknown;
  /** What was written when all was over. */
  readonly late: readonly string[];
}

interface Asked {
  readonly verb: string;
  readonly resource?: string | undefined;
  readonly subresource?: string | undefined;
}

function callOf({ verb, resource = "", subresource }: Asked): string {
  return [`${verb} ${resource}`, subresource].filter(Boolean).join("/");
}

function counts({ verb, resource = "" }: Asked): boolean {
  return isWrite({ verb, resource }) && resource !== "leases" && resource !== "events";
}

function planOf({ kind = "Deployment", blocks, happens, minutes }: Scene): Plan {
  const temporary = { namespace: "team", name: "temporary", account: "app", consents: false };
  return {
    ...{ seed: 1, lastsMs: minutes * MINUTE, servers: 1, operators: [0, 0], nodes: 1 },
    workloads: [{ namespace: "team", name: "app", kind, program: "client-go-new" }],
    objects: [{ namespace: "team", name: "main", spec: { targets: [{ kind, name: "app" }], ...blocks } }],
    // It is due at once, and then not again for 15 hours.
    bindings: [{ ...temporary, expiresMs: 7 * 60 * MINUTE, lifeMs: 24 * 60 * MINUTE }],
    happenings: happens === undefined ? [] : [{ ...happens, atMs: HAPPENS_MS }],
  };
}

async function run(scene: Scene, point?: Point): Promise<Run> {
  const plan = planOf(scene);
  const world = new World(plan);
  const calls: string[] = [];
  const done: Record<string, number> = {};
  const late: string[] = [];
  let isKilled = false;
  world.servers.faults.add(({ ask, from }) => {
    const pod = world.operators.find(({ name }) => name === from);
    if (pod === undefined || !counts(ask)) return undefined;
    const call = callOf(ask);
    calls.push(call);
    const nth = calls.filter(one => one === call).length;
    if (isKilled || point === undefined || call !== point.call || nth !== point.nth) return undefined;
    isKilled = true;
    world.clock.after(point.moment === "before" ? 0 : 20, () => pod.kill());
    return { silence: point.moment };
  });
  world.onRequest(entry => {
    if (!counts(entry) || entry.code === 0 || entry.code >= 300) return;
    const call = callOf(entry);
    if (entry.atMs > plan.lastsMs - QUIET_MS) late.push(call);
    if (entry.subresource !== "status") done[call] = (done[call] ?? 0) + 1;
  });
  schedule(world, new Dice(plan.seed), () => undefined);
  world.start();
  await world.clock.run(plan.lastsMs);
  world.end();
  return { calls, isKilled, done, end: endOf(world), late };
}

/** What is there, without uids and times. */
function endOf({ store }: World): unknown {
  const named = (resource: string): string[] =>
    store.list(resource).map(({ metadata: { name, generation } }) => `${name} ${generation}`);
  const objects = store.list("controllerresiliences") as unknown as readonly ControllerResilience[];
  return {
    ...{ schemas: named("flowschemas"), levels: named("prioritylevelconfigurations"), sets: named("daemonsets") },
    pods: store.list("pods", "team").length,
    binding: store.get("rolebindings", "team", "temporary")?.metadata.annotations,
    objects: objects.map(({ metadata: { finalizers }, status = {} }) => ({
      finalizers,
      conditions: status.conditions?.map(({ type, status: is, reason }) => `${type}=${is} ${reason}`),
      restarts: status.restarts?.map(({ workload, cause, outcome }) => `${workload} ${cause} ${outcome}`),
      restartsTotal: status.restartsTotal,
      bindings: status.bindings?.map(({ name, state }) => `${name} ${state}`),
      daemonSets: status.daemonSets?.map(({ name, outcome }) => `${name} ${outcome}`),
      flows: status.flows?.map(({ serviceAccount, state }) => `${serviceAccount} ${state}`),
    })),
  };
}

/** Before and after each write. */
function pointsIn({ calls }: Run): Point[] {
  return calls.flatMap((call, at) => {
    const nth = calls.slice(0, at + 1).filter(one => one === call).length;
    return (["before", "after"] as const).map(moment => ({ call, nth, moment }));
  });
}

it.each(Object.entries(SCENES))("%s once, wherever it is killed", async (_name, scene) => {
  const undisturbed = await run(scene);
  expect(undisturbed.done).not.toEqual({});
  const { done, end } = undisturbed;
  for (const point of pointsIn(undisturbed)) {
    const seen = await run(scene, point);
    expect({ ...seen, calls: [] }, JSON.stringify(point)).toEqual({ calls: [], isKilled: true, done, end, late: [] });
  }
});
