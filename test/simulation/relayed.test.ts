import { expect, it } from "vitest";
import type { Plan } from "./world/plan";
import { World } from "./world/world";

const MINUTE = 60_000;

const PLAN: Plan = {
  ...{ seed: 1, lastsMs: 60 * MINUTE, servers: 1, operators: [0], nodes: 1, bindings: [], happenings: [] },
  workloads: [
    { namespace: "team", name: "app", kind: "Deployment", program: "hangs", replicas: 1, leaseSeconds: 15 },
    { namespace: "other", name: "app", kind: "Deployment", program: "noisy", replicas: 1 },
  ],
  objects: ["team", "other"].map(namespace => ({
    ...{ namespace, name: "main" },
    spec: { targets: [{ kind: "Deployment", name: "app" }], stallDetection: { onStall: "Restart" } },
  })),
};

it("restarts a pod that hangs, also while a kubelet refuses the API server's requests for other logs with 401", async () => {
  const world = new World(PLAN);
  world.servers.faults.add(({ ask }) =>
    ask.subresource === "log" && ask.namespace === "other" ? { status: 401 } : {},
  );
  let evictions = 0;
  world.onRequest(({ subresource }) => void (evictions += Number(subresource === "eviction")));
  world.start();
  await world.clock.run(PLAN.lastsMs);
  world.end();
  expect(evictions).toBe(1);
}, 100_000);
