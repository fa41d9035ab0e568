import { expect, it } from "vitest";
import { conditionsIn } from "./checker/conditions";
import type { WorkloadPlan } from "./cluster/install";
import { isWrite } from "./server/journal";
import type { Plan } from "./world/plan";
import { World } from "./world/world";

// What the operator asks for while all is well. `npm run bench -- scale` measures times, processor time and memory as well, on real API servers.

const MINUTE = 60_000;
const [OBJECTS, PODS_EACH] = [10, 10];

/** The first passes read live, and full passes follow each minute. Then healthy logs sleep. */
const [FROM_MS, TO_MS] = [6 * MINUTE, 16 * MINUTE];

/** The most requests in these ten minutes of each verb and resource. What is not here must not happen. */
const MOST: Readonly<Record<string, number>> = {
  "update leases": 60,
  // The counters of the only API server, its addresses, and whether a signing key is new.
  "get /metrics": 60,
  "get endpointslices": 10,
  "get /openid/v1/jwks": 10,
  // Lists of full passes, every ten minutes.
  "list controllerresiliences": 2,
  "list flowschemas": 2,
};

const workloads = Array.from({ length: OBJECTS }, (_, at): WorkloadPlan => {
  const place = { namespace: `team-${at % 5}`, name: `app-${at}` };
  return { ...place, kind: "Deployment", program: "client-go-new", replicas: PODS_EACH };
});

const PLAN: Plan = {
  ...{ seed: 1, lastsMs: TO_MS, servers: 1, operators: [0], nodes: 5, workloads, bindings: [], happenings: [] },
  objects: workloads.map(({ kind, namespace, name }) => ({
    ...{ namespace, name },
    spec: { targets: [{ kind, name }], tokenRestart: {} },
  })),
};

it.each([
  ["100 healthy pods", PLAN],
  [
    "the only healthy pod",
    { ...PLAN, workloads: [{ ...workloads[0]!, replicas: 1 }], objects: PLAN.objects.slice(0, 1) },
  ],
])(
  "reads no log of %s, writes nothing but its Lease, and asks for little else",
  async (_, plan) => {
    const world = new World(plan);
    const counts: Record<string, number> = {};
    const [refused, written]: [string[], string[]] = [[], []];
    world.onRequest(({ atMs, verb, resource, subresource, path, code }) => {
      if (atMs < FROM_MS) return;
      const what = `${verb} ${[resource === "" ? path : resource, subresource].filter(Boolean).join("/")}`;
      counts[what] = (counts[what] ?? 0) + 1;
      if (code >= 300) refused.push(`${code} ${what}`);
      if (isWrite({ verb, resource }) && resource !== "leases") written.push(what);
    });
    world.start();
    await world.clock.run(TO_MS);
    world.end();
    expect({ refused, written }).toEqual({ refused: [], written: [] });
    const tooMany = Object.entries(counts).filter(([what, count]) => count > (MOST[what] ?? 0));
    expect(tooMany).toEqual([]);
  },
  400_000,
);

it("tells within an hour of 401s that no API server of this cluster counts", async () => {
  const odd: WorkloadPlan = { ...workloads[0]!, program: "other-cluster", replicas: 1 };
  const few = { workloads: [odd, workloads[1]!], objects: PLAN.objects.slice(0, 2) };
  const world = new World({ ...PLAN, ...few, servers: 2, lastsMs: 80 * MINUTE });
  const told = (): boolean =>
    conditionsIn(world.store.get("controllerresiliences", odd.namespace, odd.name)).some(
      ({ type, message }) => type === "Stalled" && message.includes("check which other server"),
    );
  let toldMs = 0;
  world.clock.every(MINUTE, () => (toldMs ||= told() ? world.clock.monotonicMs() : 0));
  world.start();
  await world.clock.run(80 * MINUTE);
  world.end();
  expect(toldMs / MINUTE).toBeGreaterThan(20);
  expect(toldMs / MINUTE).toBeLessThan(70);
}, 120_000);
