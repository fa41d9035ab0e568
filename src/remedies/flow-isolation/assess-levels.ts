import type { ClusterObjectView } from "../../core/views";
import { MAX_CHANGES } from "./assess-flow";
import { buildWrite, DONE } from "./build";
import type { FlowIsolationFacts, Spec } from "./facts";
import type { Finding } from "./finding";
import { changesOf, type Flow, type Piece } from "./flow";
import { isCommon, isReserved, TAR_PIT } from "./levels";
import { standingOf } from "./standing";
import { isUsed } from "./surplus";
import { homeLevel, wantedLevels, type Wanted } from "./wanted";

/** What there is to say about the levels, and to do. */
export interface LevelAssessment {
  readonly findings: readonly Finding[];
  /** Those that are to be there, or to stay. */
  readonly wanted: readonly Wanted[];
  /** There is a level to put ServiceAccounts on, or there will be one before they are. */
  readonly isUsable: boolean;
}

/** Judges the levels that the object needs for these flows. Pure. */
export function assessLevels(facts: FlowIsolationFacts, spec: Spec, flows: readonly Flow[]): LevelAssessment {
  const levels = facts.levels ?? [];
  const named = spec.priorityLevel === "" ? undefined : assessNamed(spec.priorityLevel, levels);
  const all = wantedLevels(facts, spec).map(wanted => ({ wanted, standing: standingOf(wanted, levels) }));
  const home = all.find(({ wanted }) => wanted.name === homeLevel(facts.owner, spec));
  const isUsable = named === undefined && home?.standing.is !== "Taken";
  // One that is held still gets its FlowSchema back in the tar pit, wherever it is to go afterwards.
  const toBeWritten = flows.filter(({ level, own }) => own.standing.is !== "Taken" && (isUsable || level === TAR_PIT));
  const pieces = all.filter(piece => isNeeded(piece, facts, toBeWritten));
  const findings = pieces.flatMap(piece => assessOwn(piece, facts) ?? []);
  return {
    findings: named === undefined ? findings : [named, ...findings],
    wanted: pieces.map(({ wanted }) => wanted),
    isUsable,
  };
}

/**
 * A level that objects share is there for FlowSchemas that name it, or are about to. Made without one, it would be taken away by the next
 * object that has no use for it, and so on for ever. One that is somebody else's is told of.
 */
function isNeeded({ wanted, standing }: Piece, { schemas }: FlowIsolationFacts, toBeWritten: readonly Flow[]): boolean {
  if (!isCommon(wanted.name) || standing.is === "Taken" || isUsed(wanted, schemas ?? [])) return true;
  return toBeWritten.length > 0;
}

/** A level that the spec names is used as it is, and never touched. */
function assessNamed(name: string, levels: readonly ClusterObjectView[]): Finding | undefined {
  const view = levels.find(level => level.name === name);
  if (view === undefined) {
    const sentence = `spec.flowIsolation.priorityLevel is ${name}, but there is no such PriorityLevelConfiguration.`;
    return { status: "False", reason: "LevelMissing", sentence, isStalled: true };
  }
  if (!isReserved(name) && view.spec["type"] === "Limited") return undefined;
  const sentence = `spec.flowIsolation.priorityLevel is ${name}, which is no level for custom controllers: it belongs to the control plane or to people, or limits nothing.`;
  return { status: "False", reason: "LevelRefused", sentence, isStalled: true };
}

function assessOwn(piece: Piece, facts: FlowIsolationFacts): Finding | undefined {
  const { wanted, standing } = piece;
  if (standing.is === "AsWanted") return undefined;
  const what = `The PriorityLevelConfiguration ${wanted.name}`;
  if (standing.is === "Taken") {
    const sentence = `${what} is not the operator's, and is left alone: delete it, or give it back its labels.`;
    return { status: "False", reason: "NameTaken", sentence, isStalled: true };
  }
  if (standing.is === "Going") {
    const sentence = `${what} is being deleted, and is made anew when it is gone.`;
    return { status: "False", reason: "Provisioning", sentence, isProgressing: true };
  }
  const isPutBack = isProvisioned(facts);
  if (isPutBack && mostChanges(facts) >= MAX_CHANGES) return contested(piece);
  const why = isPutBack ? `${what} is put back: somebody has changed it.` : `${what} is made.`;
  const intent = buildWrite(wanted, standing, { why, eventReason: isPutBack ? DONE.putBack : DONE.provisioned });
  const intents = intent === undefined ? [] : [intent];
  return facts.mode === "Observe"
    ? { status: "False", reason: "WouldIsolate", sentence: `${what} would be written now.`, intents }
    : { status: "False", reason: "Provisioning", sentence: why, intents, isProgressing: true };
}

function contested({ wanted, standing }: Piece): Finding {
  const manager = "view" in standing ? standing.view.lastManager : undefined;
  const who = manager === undefined ? "" : `; field manager ${manager} wrote it last`;
  const sentence = `The PriorityLevelConfiguration ${wanted.name} was put back ${MAX_CHANGES} times, and changed again each time${who}. It is not put back again before this object changes.`;
  return { status: "False", reason: "FlowContested", sentence, isStalled: true };
}

/** The operator has made something for this generation before, so its levels were as they were to be. */
function isProvisioned({ accounts, generation }: FlowIsolationFacts): boolean {
  return accounts.some(({ record }) => record?.generation === generation && record.priorityLevel !== undefined);
}

function mostChanges(facts: FlowIsolationFacts): number {
  return Math.max(0, ...facts.accounts.map(account => changesOf(account, facts)));
}
