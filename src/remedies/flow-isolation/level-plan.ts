import { isLevelUsed } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import type { FlowIsolationFacts, Spec } from "./facts";
import { type Flow, isQuarantined } from "./flow";
import { type FlowItem, levelId, mayWrite, STUCK_AFTER_MS } from "./flow-item";
import { isReserved, LEASE_LEVEL, QUARANTINE_LEVEL } from "./levels";
import { buildWrite, EVENT, type Piece, pieceOf, type Wanted, wantedLevels } from "./objects";
import type { Finding } from "./reasons";

/** What to do about the levels. */
export interface LevelPlan {
  readonly items: readonly FlowItem[];
  /** About a level that the spec names. */
  readonly findings: readonly Finding[];
  /** Levels to create, or to keep. */
  readonly wanted: readonly Wanted[];
  /** There is a level for the ServiceAccounts, or there will be one before their FlowSchemas are written. */
  readonly isUsable: boolean;
}

/** Plans the levels that these flows need. Pure. */
export function planLevels(
  facts: FlowIsolationFacts,
  spec: Spec,
  { flows, nowMs }: { readonly flows: readonly Flow[]; readonly nowMs: number },
): LevelPlan {
  const levels = facts.levels ?? [];
  const named = spec.priorityLevel === "" ? undefined : namedLevel(spec.priorityLevel, levels);
  const all = wantedLevels(facts, spec).map(wanted => pieceOf(wanted, levels));
  const isTaken = all.some(({ wanted, is }) => is === "foreign" && wanted.name !== QUARANTINE_LEVEL);
  const isUsable = named === undefined && !isTaken;
  // A throttled flow gets its FlowSchema back in quarantine, and a released one on its usual level, usable or not.
  const writable = flows.filter(flow => isUsable || isQuarantined(flow) || flow.release !== undefined);
  const needing = {
    flows: writable.filter(({ own }) => own.is !== "foreign"),
    leases: flows.some(flow => isLeaseWritten(flow, isUsable)),
  };
  const pieces = all.filter(piece => isNeeded(piece, facts, needing));
  return {
    items: pieces.map(piece => levelItem(piece, nowMs)),
    findings: named === undefined ? [] : [named],
    wanted: pieces.map(({ wanted }) => wanted),
    isUsable,
  };
}

/**
 * A shared level exists for FlowSchemas that refer to it, or are about to. Without one, the next object that does not use it would delete it, and
 * so on for ever. A foreign object with its name is always reported.
 */
function isNeeded(
  { wanted, is }: Piece,
  { schemas }: FlowIsolationFacts,
  { flows, leases }: { readonly flows: readonly Flow[]; readonly leases: boolean },
): boolean {
  if (is === "foreign" || isLevelUsed(wanted, schemas ?? [])) return true;
  if (wanted.name === LEASE_LEVEL) return leases;
  return flows.length > 0;
}

function isLeaseWritten(flow: Flow, isUsable: boolean): boolean {
  return flow.lease.is !== "foreign" && mayWrite(flow, isUsable);
}

/** A level that the spec names is used as it is, and never changed. */
function namedLevel(name: string, levels: readonly ClusterObjectView[]): Finding | undefined {
  const view = levels.find(level => level.name === name);
  if (view === undefined) {
    const sentence = `PriorityLevelConfiguration ${name} of spec.flowIsolation.priorityLevel does not exist.`;
    return { status: "False", reason: "LevelUnusable", sentence, isStalled: true };
  }
  if (!isReserved(name) && view.spec["type"] === "Limited") return undefined;
  const sentence = `Level ${name} of spec.flowIsolation.priorityLevel must not be used by custom controllers: it belongs to the control plane or to people, or limits nothing.`;
  return { status: "False", reason: "LevelUnusable", sentence, isStalled: true };
}

function levelItem(piece: Piece, nowMs: number): FlowItem {
  const { wanted, is } = piece;
  const finding = levelFinding(piece, nowMs);
  const item = { id: levelId(wanted.name), findings: finding === undefined ? [] : [finding], intents: [] };
  if (finding !== undefined || is === "right") return item;
  const what = `PriorityLevelConfiguration ${wanted.name}`;
  const step = is === "different" ? "PutBack" : "Provision";
  const why = step === "PutBack" ? `${what} was changed; restoring it.` : `Creating ${what}.`;
  const intent = buildWrite(piece, { why, eventReason: EVENT[step] });
  return { ...item, intents: intent === undefined ? [] : [intent], write: { step, why } };
}

/** Why a level is not written. */
function levelFinding(piece: Piece, nowMs: number): Finding | undefined {
  const { wanted, is, view } = piece;
  const what = `PriorityLevelConfiguration ${wanted.name}`;
  if (is === "right") return undefined;
  if (is === "foreign") {
    const sentence = `${what} was not made by the operator, which leaves it alone. Delete it, or restore its labels.`;
    return { status: "False", reason: "NameTaken", sentence, isStalled: true };
  }
  if (is === "deleting") {
    const isStalled = nowMs - (view?.deletedAtMs ?? nowMs) >= STUCK_AFTER_MS;
    const state = isStalled ? "has been in deletion for ten minutes; see its finalizers" : "is being deleted";
    const sentence = `${what} ${state}. The operator creates it again afterwards.`;
    return { status: "False", reason: "Progressing", sentence, isProgressing: !isStalled, isStalled };
  }
  return undefined;
}
