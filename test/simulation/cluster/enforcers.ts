import type { Cancel } from "../../../src/core/time";
import type { Binding } from "../../cluster/client";
import { deadlinesOf, EXPIRY } from "../../enforcers/rules";
import type { Obj } from "../server/objects";
import type { Dice } from "../time";
import type { Cluster } from "./cluster";
import { nowMs } from "./ground";
import { attempt } from "./people";

// Enforcers delete bindings whose time has passed, by their own published rules (test/enforcers/rules.ts).

/** Who deletes by which keys. */
const KEYS = {
  "kube-janitor": [EXPIRY.janitorTtl, EXPIRY.janitorExpires],
  kyverno: [EXPIRY.kyverno],
  /** A script of the cluster's owners: no published enforcer uses these keys. */
  own: [EXPIRY.ownExpiresAt, EXPIRY.ownSeconds],
} as const satisfies Record<string, readonly string[]>;

/** The name of an enforcer. */
export type Enforcer = keyof typeof KEYS;

/** How often an enforcer looks, in milliseconds: kube-janitor's default is 30 s, Kyverno's a minute. */
const EVERY_MS = { "kube-janitor": 30_000, kyverno: 60_000, own: 60_000 } as const;

/** Deletes expired bindings as long as it runs. */
export function enforce(cluster: Cluster, enforcer: Enforcer, dice: Dice): Cancel {
  let isOver = false;
  const look = (): void => {
    if (isOver) return;
    cluster.ground.clock.after(EVERY_MS[enforcer] * dice.between(0.95, 1.05), look);
    deleteExpired(cluster, enforcer);
  };
  cluster.ground.clock.after(EVERY_MS[enforcer] * dice.next(), look);
  return () => void (isOver = true);
}

function deleteExpired({ ground }: Cluster, enforcer: Enforcer): void {
  const keys: readonly string[] = KEYS[enforcer];
  const isDue = (binding: Obj): boolean =>
    deadlinesOf(binding as unknown as Binding).some(({ key, dueMs }) => keys.includes(key) && dueMs <= nowMs(ground));
  for (const resource of ["rolebindings", "clusterrolebindings"])
    for (const { metadata } of ground.store.list(resource).filter(isDue))
      attempt(() => void ground.store.delete(resource, metadata.namespace, metadata.name));
}
