import type { Cancel } from "../../../src/core/time";
import type { Binding } from "../../cluster/client";
import { deadlinesOf } from "../../enforcers/rules";
import type { Cluster } from "../cluster/cluster";
import { nowMs } from "../cluster/ground";
import { merge } from "../server/managed-fields";
import { attempt, clone, type NewObj, type Obj } from "../server/objects";
import { schemaOf } from "../server/registry";
import type { Dice } from "../time";
import { copyOf, find, type Ref } from "./people";

// Tools that live in a cluster and do the same again and again: enforcers, GitOps, autoscalers. Each returns what ends it.

/** How often something is done, in milliseconds on average, and with which luck. */
export interface Rhythm {
  readonly everyMs: number;
  readonly dice: Dice;
}

/** Does something again and again. */
export function habit({ ground: { clock } }: Cluster, { everyMs, dice }: Rhythm, deed: () => void): Cancel {
  let isOver = false;
  const again = (): void => {
    clock.after(everyMs * dice.between(0.9, 1.1), () => {
      if (isOver) return;
      attempt(deed);
      again();
    });
  };
  again();
  return () => void (isOver = true);
}

/** Deletes expired bindings every minute, by whichever published rule they have expired (test/enforcers/rules.ts). */
export function enforce(cluster: Cluster, dice: Dice): Cancel {
  const { ground } = cluster;
  const isDue = (binding: Obj): boolean =>
    deadlinesOf(binding as unknown as Binding).some(({ dueMs }) => dueMs <= nowMs(ground));
  return habit(cluster, { everyMs: 60_000, dice }, () => {
    for (const resource of ["rolebindings", "clusterrolebindings"])
      for (const { metadata } of ground.store.list(resource).filter(isDue))
        attempt(() => void ground.store.delete(resource, metadata.namespace, metadata.name));
  });
}

/** How a GitOps tool writes. */
export interface GitOptions extends Rhythm {
  /** Reverts a change some seconds after it was made. */
  readonly selfHeals?: boolean;
  /** Replaces the whole spec, as `Replace=true` does; else only fields that are in Git. */
  readonly replaces?: boolean;
}

/** Keeps an object as it is now, as a GitOps tool does with what is in Git. */
export function followGit(cluster: Cluster, ref: Ref, options: GitOptions): Cancel {
  const now = find(cluster, ref);
  if (now === undefined) return () => undefined;
  const manifest = clone(copyOf(now));
  // Nobody writes the operator's note into Git: it would be read as the word to go on renewing.
  delete manifest.metadata.annotations?.["controller-resilience.io/latest-expiry"];
  const { clock, store } = cluster.ground;
  let isOver = false;
  let isPlanned = false;
  const sync = (): void => {
    isPlanned = false;
    if (!isOver) attempt(() => write(cluster, ref, manifest, options.replaces === true));
  };
  const stop = habit(cluster, options, sync);
  const unsubscribe = store.subscribe(ref.resource, ({ object: { metadata } }) => {
    if (options.selfHeals !== true || isPlanned) return;
    if (metadata.name !== ref.name || metadata.namespace !== ref.namespace) return;
    isPlanned = true;
    clock.after(options.dice.between(500, 5_000), sync);
  });
  return () => {
    isOver = true;
    stop();
    unsubscribe();
  };
}

function write(cluster: Cluster, ref: Ref, manifest: NewObj, replaces: boolean): void {
  const { store } = cluster.ground;
  const { metadata, ...rest } = manifest;
  const merged = (live: Obj): object => {
    const schema = schemaOf(store.info(ref.resource), store);
    return replaces
      ? { ...(merge(live, { metadata }, schema) as object), ...clone(rest) }
      : (merge(live, manifest, schema) as object);
  };
  store.as({ manager: "argocd-controller" }, () => {
    if (find(cluster, ref) === undefined) store.create(ref.resource, clone(manifest));
    else store.update(ref.resource, ref.namespace, ref.name, draft => void Object.assign(draft, merged(draft)));
  });
}
