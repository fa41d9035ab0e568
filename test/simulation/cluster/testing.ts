import { Access } from "../server/access";
import type { NewObj, Obj, Status } from "../server/objects";
import { Store } from "../server/store";
import { Dice, VirtualClock } from "../time";
import type { Ref } from "../world/people";
import { Cluster } from "./cluster";
import type { Servers } from "./ground";
import { install, resourceOf, type WorkloadPlan } from "./install";

/** A cluster without API servers: requests of programs are answered at once. */
export function testCluster(seed = 1) {
  const servers = 2;
  const clock = new VirtualClock();
  const dice = new Dice(seed);
  const store = new Store(clock, dice);
  const access = new Access({ clock, dice, store, servers });
  const quiet: Servers = { count: servers, isDown: () => false, request: () => 200 };
  const cluster = new Cluster({ clock, dice, store, access, servers: quiet });
  for (const name of ["node-1", "node-2", "node-3"]) cluster.addNode(name);
  return { clock, store, access, cluster };
}

/** The same, with a workload in the namespace `shop`: a Deployment, unless more says otherwise. */
export function withWorkload(name: string, more: Partial<WorkloadPlan> = {}) {
  const plan: WorkloadPlan = { kind: "Deployment", namespace: "shop", name, program: "kopf", ...more };
  const bench = testCluster();
  const { clock, cluster, store } = bench;
  install(cluster, plan);
  const ref: Ref = { resource: resourceOf(plan.kind), namespace: "shop", name };
  return {
    ...{ ...bench, plan, ref },
    status: (): Status | undefined => store.get(ref.resource, "shop", name)?.status,
    pods: (): readonly Obj[] => store.list("pods", "shop"),
    names: (): string[] => store.list("pods", "shop").map(({ metadata }) => metadata.name),
    /** Deletes a pod of the namespace, the first one if no name is given. */
    deletePod: (pod = store.list("pods", "shop")[0]!.metadata.name) => store.delete("pods", "shop", pod),
    create: (resource: string, spec: object) =>
      store.create(resource, { metadata: { namespace: "shop", name }, spec } as NewObj),
    runTo: (minutes: number) => clock.run(minutes * MINUTE),
  };
}

export const MINUTE = 60_000;

/** Recreates a ServiceAccount. */
export function recreate(store: Store, namespace: string, name: string): void {
  store.delete("serviceaccounts", namespace, name);
  store.create("serviceaccounts", { metadata: { namespace, name } });
}
