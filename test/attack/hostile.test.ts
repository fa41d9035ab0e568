import { expect, it } from "vitest";
import type { WorkloadPlan } from "../simulation/cluster/install";
import type { LogOptions } from "../simulation/cluster/log-store";
import type { NewObj } from "../simulation/server/objects";
import type { Plan } from "../simulation/world/plan";
import { find, remove } from "../simulation/world/people";
import { World } from "../simulation/world/world";

// A tenant uses everything that `edit` and `create controllerresiliences` allow in its namespace, in large numbers. Another tenant must not notice.

const MINUTE = 60_000;
const LASTS_MS = 14 * MINUTE;
/** The attack lasts from here on, so that the operators, which start later, have to list all of it. */
const ATTACK_MS = 1.4 * MINUTE;
const LED_MS = 4 * MINUTE;
/** The tokens of the other tenant die. */
const DEATH_MS = 8 * MINUTE;
const LOOK_MS = 5_000;

/** `npm run attack` has ten times as much of everything. */
const FACTOR = process.env["ATTACK"] === "full" ? 10 : 1;

const TENANT = "tenant";
const VICTIM = "victim";
const LEASE = { resource: "leases", namespace: "controller-resilience-system", name: "controller-resilience" };

const workload = (namespace: string, name: string): WorkloadPlan => ({
  ...{ namespace, name, kind: "Deployment", program: "client-go-middle", replicas: REPLICAS },
});

function objectFor(namespace: string, names: readonly string[]) {
  const targets = names.map(name => ({ kind: "Deployment", name }));
  return { namespace, name: "main", spec: { targets, tokenRestart: {}, stallDetection: {} } };
}

const NAMES = ["app-0", "app-1", "app-2"];
const REPLICAS = 2;

const PLAN: Plan = {
  ...{ seed: 7, lastsMs: LASTS_MS, servers: 2, operators: [0, 100], nodes: 3, bindings: [], happenings: [] },
  workloads: [VICTIM, TENANT].flatMap(namespace => NAMES.map(name => workload(namespace, name))),
  objects: [
    ...[VICTIM, TENANT].map(namespace => objectFor(namespace, NAMES)),
    { name: "everything", spec: { template: { tokenRestart: {} } } },
  ],
};

/** What one tenant creates, by plural. */
function weapons(world: World): readonly (readonly [resource: string, object: NewObj])[] {
  const make = (count: number, resource: string, of: (at: number) => object) =>
    Array.from({ length: count }, (_, at) => [resource, named(`weapon-${at}`, of(at))] as const);
  const victims = world.store.list("pods", VICTIM).map(({ metadata }) => metadata.name);
  const pods = world.store.list("pods", TENANT);
  const template = (bytes: number): object => ({
    metadata: { labels: { app: "weapon" } },
    spec: { containers: [{ name: "main", image: "none", env: [{ name: "X", value: "x".repeat(bytes) }] }] },
  });
  const selector = { matchLabels: { app: "weapon" } };
  return [
    ...make(15 * FACTOR, "deployments", () => ({ spec: { replicas: 0, selector, template: template(1_200_000) } })),
    ...make(150 * FACTOR, "controllerresiliences", at => ({
      spec: { targets: [{ kind: "Deployment", name: `weapon-${at}` }], tokenRestart: { minDuration: "10s" } },
    })),
    // The name of a generated object, with the marks of one.
    [
      "controllerresiliences",
      named(
        "everything",
        { spec: { targets: [{ kind: "Deployment", name: "app-0" }], tokenRestart: {} } },
        { labels: { "controller-resilience.io/generated-for": "everything" } },
      ),
    ],
    ...make(5 * FACTOR, "controllerresiliences", () => ({
      spec: { targets: [{ kind: "Deployment", name: "none" }] },
    })).map(
      ([resource, object], at) =>
        [resource, named(`giant-${at}`, object, { annotations: { "example.com/x": "x".repeat(250_000) } })] as const,
    ),
    // Kubelet's words about sandboxes that the API server refuses.
    ...make(300 * FACTOR, "events", at => ({
      involvedObject: {
        ...{ apiVersion: "v1", kind: "Pod", namespace: TENANT },
        name: pods[at % pods.length]?.metadata.name,
      },
      ...{
        reason: "FailedCreatePodSandBox",
        type: "Warning",
        count: 99,
        source: { component: "kubelet", host: "node-0" },
      },
      message:
        'plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized',
      ...{ firstTimestamp: new Date(0).toISOString(), lastTimestamp: new Date(0).toISOString() },
    })),
    // Leases of the other tenant's pods that are not renewed.
    ...make(100 * FACTOR, "leases", at => ({
      spec: {
        holderIdentity: victims[at % victims.length],
        leaseDurationSeconds: 15,
        renewTime: "2020-01-01T00:00:00.000000Z",
      },
    })),
  ];
}

function named(name: string, body: object, more: object = {}): NewObj {
  return { ...body, metadata: { namespace: TENANT, name, ...more } } as NewObj;
}

/** One line of ten megabytes for each pod of the tenant, and what looks like its 401s. */
function shout(world: World): void {
  const { cluster } = world;
  const logs = cluster.logs.bind(cluster);
  const line = "Failed to list *v1.Pod: Unauthorized ".repeat(280_000);
  const heads = new Map<number, string>();
  cluster.logs = (pod, container, options: LogOptions = {}) => {
    if (pod.metadata.namespace !== TENANT) return logs(pod, container, options);
    const stamp = `${new Date(world.clock.now()).toISOString().slice(0, 23)}000000Z `;
    const bytes = options.limitBytes ?? line.length;
    const head = heads.get(bytes) ?? line.slice(0, bytes - stamp.length);
    heads.set(bytes, head);
    return stamp + head;
  };
}

const WARNS = /warn|error/;

/** What the operator may warn of: so much at once reaches the limits of the API servers (429), and ten times as much the queue of Events. */
const EXPECTED_WARNINGS = [
  ...["cluster-wide pass ended early", "observe failed", "pass ended early"],
  ...(FACTOR === 1 ? [] : ["Event lost"]),
];

interface Told {
  /** From the death of the tokens until every pod of the other tenant works again. */
  readonly healedMs: number;
  /** Who has led, and how often the lead changed. */
  readonly leads: string;
  /** Evictions by namespace. */
  readonly evictions: Readonly<Record<string, number>>;
  /** Conditions of the other tenant's object at the end. */
  readonly ready: unknown;
  /** Pods of the other tenant that do not work at the end. */
  readonly broken: number;
  /** What the operators warn of. */
  readonly warnings: readonly string[];
  /** ControllerResiliences of the other tenant. */
  readonly objects: readonly string[];
}

async function run(isAttacked: boolean): Promise<Told> {
  const world = new World(PLAN);
  const evictions: Record<string, number> = { [VICTIM]: 0 };
  world.onRequest(({ subresource, namespace = "", code }) => {
    if (subresource === "eviction" && code < 300) evictions[namespace] = (evictions[namespace] ?? 0) + 1;
  });
  world.start();
  await world.clock.run(ATTACK_MS);
  if (isAttacked) {
    shout(world);
    for (const [resource, object] of weapons(world)) world.store.create(resource, object);
  }
  await world.clock.run(LED_MS);
  const before = leadOf(world);
  await world.clock.run(DEATH_MS);
  for (const name of NAMES) {
    const account = { resource: "serviceaccounts", namespace: VICTIM, name };
    remove(world.cluster, account);
    world.store.create("serviceaccounts", { metadata: { namespace: VICTIM, name } });
  }
  const broken = (): number =>
    world.truths().filter(({ namespace, state }) => namespace === VICTIM && state !== "works").length;
  let healedMs = Infinity;
  for (let atMs = DEATH_MS + LOOK_MS; atMs <= LASTS_MS; atMs += LOOK_MS) {
    await world.clock.run(atMs);
    if (broken() > 0) healedMs = Infinity;
    else healedMs = Math.min(healedMs, atMs - DEATH_MS);
  }
  const objects = world.store.list("controllerresiliences", VICTIM);
  const main = objects.find(({ metadata }) => metadata.name === "main");
  const conditions = (main?.["status"] as { conditions?: { type: string; status: string }[] }).conditions ?? [];
  const told: Told = {
    ...{ healedMs, evictions, broken: broken(), objects: objects.map(({ metadata }) => metadata.name) },
    warnings: [...new Set(world.logs.flatMap(({ line }) => (WARNS.test(line.level) ? [line.message] : [])))].sort(),
    leads: before === leadOf(world) ? "the same" : `${before}, then ${leadOf(world)}`,
    ready: conditions.find(({ type }) => type === "Ready")?.status,
  };
  world.end();
  return told;
}

function leadOf(world: World): string {
  const spec = find(world.cluster, LEASE)?.["spec"] as
    | { holderIdentity?: string; leaseTransitions?: number }
    | undefined;
  return `${spec?.holderIdentity ?? "nobody"} (${spec?.leaseTransitions ?? 0})`;
}

it("does not slow down the healing of another tenant, takes nothing from it, and costs no leadership", async () => {
  const [calm, attacked] = [await run(false), await run(true)];
  const evictions = { [VICTIM]: NAMES.length * REPLICAS };
  expect(calm).toMatchObject({ ready: "True", broken: 0, leads: "the same", evictions });
  const warnings = attacked.warnings.filter(message => !EXPECTED_WARNINGS.includes(message));
  expect({ ...attacked, warnings, healedMs: 0 }).toEqual({ ...calm, healedMs: 0, evictions: attacked.evictions });
  expect(attacked.evictions[VICTIM]).toBe(calm.evictions[VICTIM]);
  expect(attacked.healedMs).toBeLessThanOrEqual(2 * calm.healedMs);
});
