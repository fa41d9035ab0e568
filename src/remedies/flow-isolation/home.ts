import { FLOW_PREFIX } from "../../api/names";
import { SYSTEM_NAMESPACE } from "../../core/components";
import { isObject } from "../../core/json";
import { isManaged, isOwnedName, ownedName } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import type { FlowIsolationFacts, Owner, Spec } from "./facts";
import { SHARED_LEVEL, SYSTEM_LEVEL, type LevelSettings } from "./levels";

/** What the choice of a level depends on. */
export type HomeFacts = Pick<FlowIsolationFacts, "owner" | "levels">;

/** The level of the targets' ServiceAccounts while they are not throttled. Pure. */
export function homeLevel(facts: HomeFacts, spec: Spec): string {
  if (spec.priorityLevel !== "") return spec.priorityLevel;
  return dedicatedFor(facts, spec)?.settings === undefined ? commonHome(facts) : dedicatedName(facts.owner);
}

/** Controllers of kube-system keep the level that Kubernetes gives them, which has more seats than the shared level. */
function commonHome({ owner, levels }: HomeFacts): string {
  const isThere = (levels ?? []).some(({ name, spec }) => name === SYSTEM_LEVEL && spec["type"] === "Limited");
  return owner.metadata.namespace === SYSTEM_NAMESPACE && isThere ? SYSTEM_LEVEL : SHARED_LEVEL;
}

/** Name of an object's own level. */
export function dedicatedName({ metadata: { namespace, name, uid } }: Owner): string {
  return ownedName(FLOW_PREFIX, [namespace, name], [uid]);
}

/** Shares of the dedicated levels of all objects together: the built-in levels keep two thirds of the seats at least. */
export const MAX_SHARES = 100;

/** An object's own level, as far as there are shares left for it. */
export interface Dedicated {
  /** Absent: there is no room for it. */
  readonly settings?: LevelSettings;
  /** Shares of the other objects' levels. */
  readonly othersShares: number;
}

/**
 * The settings of an object's own level; undefined if the spec wants none. A new level, or a larger one, needs room beside all others. A level
 * that exists keeps its shares, unless older levels have taken them all.
 */
export function dedicatedFor({ owner, levels }: HomeFacts, { dedicated }: Spec): Dedicated | undefined {
  if (dedicated === undefined) return undefined;
  const name = dedicatedName(owner);
  const all = (levels ?? []).filter(view => isManaged(view) && isOwnedName(FLOW_PREFIX, view.name));
  const own = all.find(view => view.name === name);
  const others = all.filter(view => view.name !== name);
  const othersShares = sharesOf(others);
  const wanted = dedicated.nominalConcurrencyShares;
  if (othersShares + wanted <= MAX_SHARES) return { settings: dedicated, othersShares };
  if (own === undefined) return { othersShares };
  const kept = Math.min(wanted, sharesOf([own]));
  const older = sharesOf(others.filter(view => isOlder(view, own)));
  return older + kept > MAX_SHARES
    ? { othersShares }
    : { settings: { ...dedicated, nominalConcurrencyShares: kept }, othersShares };
}

function isOlder(a: ClusterObjectView, b: ClusterObjectView): boolean {
  return a.createdAtMs === b.createdAtMs ? a.name < b.name : a.createdAtMs < b.createdAtMs;
}

function sharesOf(levels: readonly ClusterObjectView[]): number {
  return levels.map(({ spec }) => spec["limited"]).reduce((sum: number, limited) => sum + sharesIn(limited), 0);
}

function sharesIn(limited: unknown): number {
  const shares = isObject(limited) ? limited["nominalConcurrencyShares"] : undefined;
  return typeof shares === "number" ? shares : 0;
}
