import type { Cancel } from "../../../src/core/time";
import { clone, type NewObj, type Obj } from "../server/objects";
import type { Dice } from "../time";
import type { Cluster } from "./cluster";
import { attempt, copyOf, type Ref } from "./people";

// A GitOps tool keeps objects as they are in Git.

/** How a tool writes. */
export interface GitOptions {
  readonly dice: Dice;
  /** Time between two syncs, in milliseconds; the default of Argo CD is three minutes. */
  readonly everyMs?: number;
  /** Reverts a change some seconds after it was made. */
  readonly selfHeals?: boolean;
  /** Replaces the whole spec, as `Replace=true` does; else only fields that are in Git. */
  readonly replaces?: boolean;
}

/** What Git says about an object; it can be changed, as by a commit. */
export interface GitEntry {
  manifest: NewObj;
  stop: Cancel;
}

/** Keeps an object as it is now. */
export function followGit(cluster: Cluster, ref: Ref, options: GitOptions): GitEntry {
  const { ground } = cluster;
  const { resource, namespace, name } = ref;
  const now = ground.store.get(resource, namespace, name);
  if (now === undefined) throw new Error(`expected ${resource} ${namespace}/${name} in the store, got none`);
  const entry: GitEntry = { manifest: clone(copyOf(now)), stop: () => undefined };
  let isOver = false;
  let isPlanned = false;
  const sync = (): void => {
    if (!isOver) write(cluster, ref, entry.manifest, options.replaces === true);
  };
  const again = (): void => {
    ground.clock.after((options.everyMs ?? 180_000) * options.dice.between(0.9, 1.1), () => {
      if (isOver) return;
      sync();
      again();
    });
  };
  again();
  const unsubscribe = ground.store.subscribe(resource, ({ object }) => {
    const { metadata } = object;
    if (options.selfHeals !== true || isPlanned || metadata.name !== name || metadata.namespace !== namespace) return;
    isPlanned = true;
    ground.clock.after(options.dice.between(500, 5_000), () => {
      isPlanned = false;
      sync();
    });
  });
  entry.stop = () => {
    isOver = true;
    unsubscribe();
  };
  return entry;
}

function write(
  { ground: { store } }: Cluster,
  { resource, namespace, name }: Ref,
  manifest: NewObj,
  replaces: boolean,
): void {
  attempt(() =>
    store.as({ manager: "argocd-controller" }, () => {
      if (store.get(resource, namespace, name) === undefined) store.create(resource, clone(manifest));
      else store.update(resource, namespace, name, draft => merge(draft, manifest, replaces));
    }),
  );
}

function merge(draft: Obj, { metadata, ...rest }: NewObj, replaces: boolean): void {
  for (const map of ["labels", "annotations"] as const)
    if (metadata[map] !== undefined) draft.metadata[map] = { ...draft.metadata[map], ...metadata[map] };
  for (const [field, value] of Object.entries(rest))
    draft[field] = replaces ? clone(value) : merged(draft[field], value);
}

/** What is in Git wins; lists of named items are merged by name, others are replaced. */
function merged(live: unknown, wanted: unknown): unknown {
  if (Array.isArray(live) && Array.isArray(wanted)) return mergedLists(live, wanted);
  if (!isMap(live) || !isMap(wanted)) return clone(wanted);
  const result: Record<string, unknown> = { ...live };
  for (const [field, value] of Object.entries(wanted)) result[field] = merged(live[field], value);
  return result;
}

function mergedLists(live: readonly unknown[], wanted: readonly unknown[]): unknown {
  if (![...live, ...wanted].every(item => isMap(item) && typeof item["name"] === "string")) return clone(wanted);
  const items = new Map((live as Record<string, unknown>[]).map(item => [item["name"], item]));
  for (const item of wanted as Record<string, unknown>[])
    items.set(item["name"], merged(items.get(item["name"]), item) as Record<string, unknown>);
  return [...items.values()];
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
