import type { Obj } from "../server/objects";
import type { Happening } from "./plan";
import type { World } from "./world";

// What can happen to a world. Each happening changes the world at once, and returns how it ends, if it ends by itself.

/** @returns a function that ends it; anything else if nothing does */
type Deed = (world: World, happening: Happening) => unknown;

const SKIP = "controller-resilience.io/skip";
const EXPIRES = "controller-resilience.io/expires-at";

/** Splits `namespace/name`. */
function split(key = ""): [namespace: string, name: string] {
  const at = key.indexOf("/");
  return [key.slice(0, at), key.slice(at + 1)];
}

/** Changes an object if it is there, as a person does. */
function change(world: World, resource: string, key: string | undefined, edit: (draft: Obj) => void): void {
  const [namespace, name] = split(key);
  if (world.store.get(resource, namespace, name) !== undefined) world.store.update(resource, namespace, name, edit);
}

function remove(world: World, resource: string, key: string | undefined): Obj | undefined {
  const [namespace, name] = split(key);
  const object = world.store.get(resource, namespace, name);
  if (object !== undefined) world.store.delete(resource, namespace, name);
  return object;
}

/** Creates an object again that was deleted: with a new uid, and without a status. */
function again(world: World, resource: string, object: Obj | undefined): void {
  if (object === undefined) return;
  const { namespace, name, labels, annotations } = object.metadata;
  if (world.store.get(resource, namespace, name) !== undefined) return;
  const metadata = {
    name,
    ...(namespace && { namespace }),
    ...(labels && { labels }),
    ...(annotations && { annotations }),
  };
  const rest = Object.fromEntries(Object.entries(object).filter(([field]) => field !== "status"));
  world.store.create(resource, { ...rest, metadata });
}

/** Deletes an object for a while. */
const withoutIt =
  (resource: string): Deed =>
  (world, { on }) => {
    const object = remove(world, resource, on);
    return () => again(world, resource, object);
  };

/** Sets an annotation for a while. */
const annotated =
  (annotation: string, value: string): Deed =>
  (world, { on }) => {
    const workload = world.workload(on);
    if (workload === undefined) return undefined;
    const set = (text: string | undefined): void =>
      change(world, workload.resource, on, ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations };
        if (text === undefined) Reflect.deleteProperty(metadata.annotations, annotation);
        else metadata.annotations[annotation] = text;
      });
    set(value);
    return () => set(undefined);
  };

/** Sets a field of an object's spec for a while. */
const withSpec =
  (field: string, value: unknown): Deed =>
  (world, { on }) => {
    const set = (next: unknown): void =>
      change(world, "controllerresiliences", on, draft => {
        if (next === undefined) Reflect.deleteProperty(draft["spec"] as object, field);
        else (draft["spec"] as Record<string, unknown>)[field] = next;
      });
    const [namespace, name] = split(on);
    const before = (
      world.store.get("controllerresiliences", namespace, name)?.["spec"] as Record<string, unknown> | undefined
    )?.[field];
    set(value);
    return () => set(before);
  };

const moveExpiry =
  (byMs: (leftMs: number) => number): Deed =>
  (world, { on }) => {
    const nowMs = world.clock.now().getTime();
    change(world, "rolebindings", on, ({ metadata }) => {
      const expiresMs = Date.parse(metadata.annotations?.[EXPIRES] ?? "");
      if (Number.isNaN(expiresMs) || expiresMs < nowMs) return;
      const nextMs = expiresMs + byMs(expiresMs - nowMs);
      metadata.annotations = {
        ...metadata.annotations,
        [EXPIRES]: new Date(nextMs).toISOString().replace(/\.\d+/, ""),
      };
    });
  };

/** The network and the API servers. */
const FAULTS: Readonly<Record<string, Deed>> = {
  "request-errors": (world, { amount = 0.1 }) => world.faults.errors(amount),
  silence: world => world.faults.silence(),
  "slow-answers": (world, { amount = 1_000 }) => world.faults.slow(amount),
  "server-down": (world, { on }) => world.faults.down(Number(on)),
  "server-lags": (world, { on, amount = 20_000 }) => world.faults.lag(Number(on), amount),
  "watches-break": world => world.faults.breakWatches(),
  "watches-silent": world => world.faults.silentWatches(),
  "evictions-refused": (world, { on = "" }) => world.faults.refuseEvictions(on),
  "operator-killed": (world, { on }) => world.operators[Number(on)]?.kill(),
  "operator-frozen": (world, { on }) => {
    const process = world.operators[Number(on)]?.process;
    process?.clock.freeze();
    return () => process?.clock.thaw();
  },
  "operator-cut-off": (world, { on }) => {
    const pod = world.operators[Number(on)];
    pod?.cutOff(true);
    return () => pod?.cutOff(false);
  },
  "clock-jumps": (world, { on, amount = 0 }) => world.operators[Number(on)]?.process?.clock.jumpWall(amount),
  "lease-deleted": world => void remove(world, "leases", "controller-resilience-system/controller-resilience"),
  "node-away": world => {
    const node = world.someNode();
    if (node === undefined) return undefined;
    world.cluster.loseNode(node);
    return () => world.cluster.regainNode(node);
  },
  "node-joins": world => world.cluster.addNode(`late-${Math.round(world.clock.monotonicMs())}`),
  "pods-refused": world => {
    const refuse = (): string => 'admission webhook "policy.example" denied the request: not now';
    world.cluster.ground.podRefusals.add(refuse);
    return () => void world.cluster.ground.podRefusals.delete(refuse);
  },
};

/** What kills programs silently. */
const TROUBLES: Readonly<Record<string, Deed>> = {
  "recreate-account": (world, { on }) => again(world, "serviceaccounts", remove(world, "serviceaccounts", on)),
  "delete-account": withoutIt("serviceaccounts"),
  "rotate-key": (world, { amount = 0 }) => {
    world.access.rotateKey({ keepOld: amount === 1 });
    world.cluster.changed();
  },
  "rotate-key-of-one-server": (world, { on }) => {
    const server = Number(on);
    const before = [...world.access.keysOf(server)];
    for (const key of before) world.access.setKey(server, key, false);
    world.cluster.changed();
    return () => {
      for (const key of before) world.access.setKey(server, key, true);
      world.cluster.changed();
    };
  },
  "revoke-access": withoutIt("rolebindings"),
  "refuse-tokens": world => {
    const refuse = (): boolean => true;
    world.cluster.ground.tokenRefusals.add(refuse);
    world.cluster.changed();
    return () => {
      world.cluster.ground.tokenRefusals.delete(refuse);
      world.cluster.changed();
    };
  },
};

/** What people do, at the wrong moment. */
const DEEDS: Readonly<Record<string, Deed>> = {
  suspend: withSpec("suspend", true),
  observe: withSpec("mode", "Observe"),
  "recreate-object": withoutIt("controllerresiliences"),
  skip: annotated(SKIP, "true"),
  "roll-out": (world, { on }) => world.rollOut(on, `at ${Math.round(world.clock.monotonicMs())}`),
  "break-rollout": (world, { on }) => world.breakRollout(on),
  scale: (world, { on, amount = 1 }) => {
    const workload = world.workload(on);
    if (workload === undefined || workload.kind === "DaemonSet") return;
    change(world, workload.resource, on, draft => ((draft["spec"] as { replicas: number }).replicas = amount));
  },
  "delete-pod": (world, { on }) => {
    const pod = world.podsOf(on)[0];
    if (pod !== undefined) world.store.delete("pods", pod.metadata.namespace, pod.metadata.name);
  },
  "shorten-binding": moveExpiry(leftMs => -leftMs / 2),
  "extend-binding": moveExpiry(() => 6 * 3_600_000),
  "revoke-binding": (world, { on }) => void remove(world, "rolebindings", on),
};

/** Everything that can happen, by its name in a plan. */
export const HAPPENINGS: Readonly<Record<string, Deed>> = { ...TROUBLES, ...FAULTS, ...DEEDS };

/** Lets everything of a plan happen. */
export function schedule(world: World, happenings: readonly Happening[], told: (text: string) => void): void {
  for (const happening of happenings) {
    const deed = HAPPENINGS[happening.what];
    if (deed === undefined)
      throw new Error(`expected a happening of test/simulation/world/happenings.ts, got ${happening.what}`);
    const text = `${happening.what}${happening.on === undefined ? "" : ` ${happening.on}`}`;
    world.clock.after(happening.atMs, () => {
      told(`** ${text}`);
      const end = deed(world, happening);
      if (typeof end !== "function" || happening.forMs === undefined) return;
      world.clock.after(happening.forMs, () => {
        told(`** the end of ${text}`);
        (end as () => void)();
      });
    });
  }
}
