import { Access } from "../server/access";
import { Store } from "../server/store";
import { Dice, VirtualClock } from "../time";
import { Cluster } from "./cluster";
import type { Servers } from "./ground";

/** A cluster without API servers: requests of programs are answered at once. */
export function testCluster(seed = 1): {
  clock: VirtualClock;
  store: Store;
  access: Access;
  cluster: Cluster;
  down: Set<number>;
} {
  const servers = 2;
  const clock = new VirtualClock();
  const dice = new Dice(seed);
  const store = new Store(clock, dice);
  const access = new Access({ clock, dice, store, servers });
  const down = new Set<number>();
  const quiet: Servers = { count: servers, isDown: at => down.has(at), request: () => 200 };
  const cluster = new Cluster({ clock, dice, store, access, servers: quiet });
  for (const name of ["node-1", "node-2", "node-3"]) cluster.addNode(name);
  return { clock, store, access, cluster, down };
}

export const MINUTE = 60_000;

/** Recreates a ServiceAccount. */
export function recreate(store: Store, namespace: string, name: string): void {
  store.delete("serviceaccounts", namespace, name);
  store.create("serviceaccounts", { metadata: { namespace, name } });
}
