import type { FlowIsolationSpec } from "../../api/controller-resilience";
import { type Execution, pendingWrites } from "../../core/intent";
import { levelOf, QUARANTINE_LEVEL } from "../../core/owned";
import { UNAUTHENTICATED } from "../../core/readers";
import {
  capitalize,
  type ObserveMode,
  type Outcomes,
  type Plan,
  type PlanItem,
  type Report,
  whyObserved,
} from "../../core/remedy";
import { firstOf } from "../../core/text";
import { parseDuration } from "../../core/time";
import { summarize, targetNotFound, withPending, worstFirst } from "../kit/finding";
import { type Flow, flowOf, isQuarantined, piecesOf, reasonToWrite } from "./flow";
import { buildSurplus, buildWrite, EVENT, isLevelUsed, isMadeFor, type Piece } from "./objects";
import { type FlowIsolationFacts, MAX_ACCOUNTS, measuredEvery } from "./observe";
import { MAX_OLDEST_MS, readRate } from "./rate";
import { type Finding, type Reason, REASONS } from "./reasons";
import { obstacleTo, tell, type Told } from "./tell";

/** One level, flow or surplus object. */
export interface FlowItem extends PlanItem {
  readonly flow?: Flow;
  /** What hinders a level. */
  readonly finding?: Finding | undefined;
}

/** What to do about all flows. */
export interface FlowPlan extends Plan<FlowItem> {
  readonly mode: FlowIsolationFacts["mode"];
  /** Findings about no single item. */
  readonly findings: readonly Finding[];
  readonly recheckAfterMs: number;
}

/** Plans the levels, the FlowSchemas, the throttles and what is left over. Pure and total. */
export function planFlows(facts: FlowIsolationFacts, spec: FlowIsolationSpec, now: Date): FlowPlan {
  const { mode, notUnderstood, schemas, owner } = facts;
  const nowMs = now.getTime();
  const flows = facts.accounts.map(account => flowOf(account, { facts, spec, nowMs }));
  const { items, isLeft } = itemsOf(facts, flows, nowMs);
  return {
    mode,
    items,
    findings: notUnderstood === undefined ? findingsOfAll(facts, spec) : [waitForTargets(notUnderstood)],
    recheckAfterMs: recheckOf(flows, nowMs),
    // Also for what is about to be written or deleted: without the finalizer nothing would retry after a crash.
    needsCleanup: isLeft || schemas.some(view => isMadeFor(view, owner)),
  };
}

/** The items in the order of their writes, and whether anything has to go with the object. */
function itemsOf(
  facts: FlowIsolationFacts,
  flows: readonly Flow[],
  nowMs: number,
): { readonly items: FlowItem[]; readonly isLeft: boolean } {
  const { schemas, notUnderstood } = facts;
  const isUnderstood = notUnderstood === undefined;
  const made = flows.filter(({ shadow }) => shadow?.isChosen !== true);
  const written = made.filter(mayWrite);
  const needed = neededLevels(facts, written);
  const wanted = new Set([...needed, ...made.flatMap(piecesOf)].map(piece => piece.wanted.name));
  const throttling = schemas.filter(view => levelOf(view) === QUARANTINE_LEVEL);
  const leftOver = isUnderstood ? facts : { ...facts, schemas: throttling, levels: [] };
  const surplus = buildSurplus(leftOver, name => wanted.has(name));
  const items = [
    // Levels before flows: the API server ignores a FlowSchema while its level is missing.
    ...(isUnderstood ? needed : []).map(piece => levelItem(piece, nowMs)),
    ...flows.map(flow => flowItem(flow, written.includes(flow))),
    ...surplus.map(intent => ({ id: itemId(intent.target), intents: [intent] })),
  ];
  return { items, isLeft: wanted.size > 0 || surplus.length > 0 };
}

function mayWrite(flow: Flow): boolean {
  const { facts, throttle, limits } = flow;
  // Of targets that are not understood only throttles end: those that are due, and those that status does not mention.
  if (facts.notUnderstood !== undefined) return limits.isHeld && !isQuarantined(flow);
  // The API server ignores a FlowSchema without its level, which lifts a throttle: nothing may block that.
  if (throttle.state === "Throttled") return true;
  return facts.kept.every(({ is, wanted }) => is !== "foreign" || wanted.name === QUARANTINE_LEVEL);
}

/**
 * The levels exist while there are FlowSchemas, or are about to be. Without one, the next object would delete them, and so on for ever. A foreign
 * object with the name of one is always reported.
 */
function neededLevels({ kept, schemas }: FlowIsolationFacts, written: readonly Flow[]): Piece[] {
  const isAny = written.flatMap(piecesOf).some(({ is }) => is !== "foreign");
  return kept.filter(({ is, wanted }) => is === "foreign" || isAny || isLevelUsed(wanted.name, schemas));
}

function levelItem(piece: Piece, nowMs: number): FlowItem {
  const { wanted, is } = piece;
  const level = `PriorityLevelConfiguration ${wanted.name}`;
  const why = is === "missing" ? `Creating ${level}.` : `${level} is ${is}; restoring it.`;
  const intents = buildWrite(piece, { why, eventReason: EVENT.Provision });
  return { id: itemId(wanted), intents, finding: obstacleTo(piece, nowMs) };
}

function flowItem(flow: Flow, mayWrite: boolean): FlowItem {
  const words = reasonToWrite(flow);
  const intents = mayWrite ? piecesOf(flow).flatMap(piece => buildWrite(piece, words)) : [];
  return { id: `flow/${flow.account.name}`, intents, flow };
}

function itemId({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind}/${name}`;
}

function waitForTargets(why: string): Finding {
  const sentence = `No action but the end of throttles: ${why}`;
  return { status: "Unknown", reason: "ObserveFailed", sentence, isStalled: true };
}

const NONE: Finding = {
  status: "True",
  reason: "NothingToDo",
  sentence: "No ServiceAccount to isolate: every workload of the targets has the skip annotation.",
};

function findingsOfAll(facts: FlowIsolationFacts, spec: FlowIsolationSpec): Finding[] {
  const { missingTargets, accounts } = facts;
  const isNone = accounts.length + missingTargets.length === 0;
  return [
    ...missingTargets.map(targetNotFound),
    ...leftOut(facts),
    ...rateFindings(facts),
    ...unauthenticated(facts, spec),
    ...(isNone ? [NONE] : []),
  ];
}

/** Names in the message about those that are left out. */
const MAX_NAMES = 5;

function leftOut({ leftOut: names }: FlowIsolationFacts): Finding[] {
  if (names.length === 0) return [];
  const sentence = `${names.length} ServiceAccounts are not isolated: an object isolates at most ${MAX_ACCOUNTS}. Not isolated: ${firstOf(names, MAX_NAMES)}. Use several objects; one that a person writes takes its workloads from a generated one.`;
  return [{ status: "False", reason: "TooMany", sentence, isStalled: true }];
}

function rateFindings(facts: FlowIsolationFacts): Finding[] {
  const { rates, accounts } = facts;
  if (accounts.length === 0) return [];
  if (rates.unknown !== undefined) {
    const sentence = `Runaways go undetected: the request rates are unknown. ${rates.unknown}`;
    return [{ status: "Unknown", reason: "ObserveFailed", sentence }];
  }
  if (accounts.some(({ runningPods }) => runningPods === undefined)) {
    const sentence = "Runaways go undetected: the pods of the namespace, or the ClusterRoleBindings, cannot be read.";
    return [{ status: "Unknown", reason: "ObserveFailed", sentence }];
  }
  const { found, read } = rates.servers;
  if (read >= found) return [];
  const sentence = `The request rates are lower bounds: only ${read} of ${found} API servers could be read.`;
  return [{ status: "True", reason: "Isolated", sentence }];
}

/** A request that is answered 401 has no flow yet, so a flood of them looks like no requests at all. */
function unauthenticated({ rates, accounts }: FlowIsolationFacts, { requestRate }: FlowIsolationSpec): Finding[] {
  const { threshold, for: over } = requestRate;
  const { overMs } = readRate(rates, UNAUTHENTICATED, threshold, { maxBetweenMs: MAX_OLDEST_MS });
  if (accounts.length === 0 || overMs < parseDuration(over)) return [];
  const sentence = `The API servers answer 401 to more than ${threshold} requests/s. Such requests have no flow, so they are neither counted for a ServiceAccount nor throttled. tokenRestart finds pods with rejected tokens; else find the client in the audit log.`;
  return [{ status: "True", reason: "Unauthenticated", sentence }];
}

/** Those that may be throttled are read closely, also one that is about to be: the write may fail. */
function recheckOf(flows: readonly Flow[], nowMs: number): number {
  const watched = flows.filter(({ hindrance }) => hindrance === undefined || hindrance.isBrief);
  const states = watched.flatMap(({ before, throttle }) => [before?.state, throttle.state]);
  // A probation whose rate is unknown lasts beyond its end.
  const left = flows.flatMap(({ throttle }) => throttle.untilMs ?? []).map(untilMs => untilMs - nowMs);
  return Math.min(measuredEvery(states), ...left.filter(ms => ms > 0).map(ms => Math.max(1_000, ms)));
}

/** After a write: the API server applies a FlowSchema within a second or two. In milliseconds. */
const WRITTEN_MS = 2_000;

/** After a write that failed, in milliseconds: haste gains nothing where it will fail again. */
const FAILED_MS = 30_000;

/** The condition, status.flows and the Events of a plan after its execution. Pure. */
export function reportFlows(plan: FlowPlan, outcomes: Outcomes): Report<Reason | "Forbidden"> {
  const { items, mode, recheckAfterMs } = plan;
  const executions = [...outcomes.values()].flat();
  const told = items.map(item => toldOf(item, outcomes.get(item.id)));
  const findings = [
    ...told.flatMap(one => one.findings),
    ...plan.findings,
    ...(mode === "Enforce" ? items.flatMap(writing) : notWritten(items, mode)),
  ];
  const recheckMs = executions.some(isExecuted) ? WRITTEN_MS : Infinity;
  const retryMs = pendingWrites(executions).length > 0 ? FAILED_MS : Infinity;
  const report: Report<Reason | "Forbidden"> = {
    ...summarize(worstFirst(REASONS, findings), ISOLATED, "status.flows"),
    lists: { flows: told.flatMap(({ entry }) => entry ?? []) },
    recheckAfterMs: Math.min(recheckAfterMs, recheckMs, retryMs),
  };
  // A throttle that cannot be lifted does harm now.
  return withPending(report, executions, "ReleaseFailed");
}

const ISOLATED: Finding = { status: "True", reason: "Isolated", sentence: "Every flow is isolated." };

function toldOf({ flow, finding }: FlowItem, executions: readonly Execution[] = []): Told {
  if (flow === undefined) return { findings: finding === undefined ? [] : [finding] };
  return tell(
    flow,
    executions.some(one => isExecuted(one) && one.intent.target.name === flow.own.wanted.name),
  );
}

/** The operator writes this now. Steps of a throttle have messages of their own. */
function writing({ intents: [first] }: FlowItem): Finding[] {
  if (first === undefined || first.eventReason === EVENT.Throttle || first.eventReason === EVENT.Release) return [];
  return [{ status: "False", reason: "Progressing", sentence: first.why, isProgressing: true }];
}

/** One finding about all writes that are left out, so that the message says once why. */
function notWritten(items: readonly FlowItem[], mode: ObserveMode): Finding[] {
  const intents = items.flatMap(item => item.intents);
  if (intents.length === 0) return [];
  const names = intents.map(({ verb, target }) => `${verb} ${target.kind} ${target.name}`);
  const isUnmeasured = intents.some(({ verb, target }) => verb === "create" && target.kind === "FlowSchema");
  const note = isUnmeasured ? " Requests are measured only once the ServiceAccount is isolated." : "";
  const sentence = `${capitalize(whyObserved(mode))}: would ${firstOf(names, MAX_WRITES)} now.${note}`;
  return [{ status: "False", reason: "WouldIsolate", sentence }];
}

/** Writes in one message; there may be hundreds. */
const MAX_WRITES = 4;

function isExecuted({ outcome }: Execution): boolean {
  return outcome.result === "Executed";
}
