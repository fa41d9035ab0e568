import { levelOf } from "../../core/owned";
import type { FlowStatus } from "../../api/controller-resilience";
import { firstOf } from "../../core/text";
import { parseDuration } from "../../core/time";
import type { Intent } from "../../core/intent";
import type { Plan } from "../../core/remedy";
import { UNAUTHENTICATED } from "../../core/readers";
import type { ClusterObjectView } from "../../core/views";
import { targetNotFound } from "../kit/finding";
import { type FlowIsolationFacts, isThrottleable, MAX_ACCOUNTS, measuredEvery, type Spec, throttles } from "./facts";
import { entryOf, type Flow, flowOf, isInQuarantine, isLeftToOther, isQuarantined, nameOf, piecesOf } from "./flow";
import { findingsOfFlow, flowId, type FlowItem, otherId, writeOfFlow } from "./flow-item";
import { planLevels } from "./level-plan";
import { QUARANTINE_LEVEL } from "./levels";
import { buildSurplus, isMadeFor } from "./objects";
import { MAX_OLDEST_MS, readRate } from "./rate";
import type { Finding } from "./reasons";

/** What to do about all flows. */
export interface FlowPlan extends Plan<FlowItem> {
  readonly mode: FlowIsolationFacts["mode"];
  /** Findings about no single item. */
  readonly findings: readonly Finding[];
  /** status.flows before the writes; absent while flow control is unavailable. */
  readonly entries?: readonly FlowStatus[];
  /** Level of each ServiceAccount's flow once its FlowSchema is written. */
  readonly levels: Readonly<Record<string, string>>;
  readonly recheckAfterMs?: number;
}

/** Plans the levels, the FlowSchemas, the throttles and what is left over. Pure and total. */
export function planFlows(facts: FlowIsolationFacts, spec: Spec, now: Date): FlowPlan {
  const { schemas, levels, mode } = facts;
  if (schemas === null || levels === null) return { mode, items: [], findings: [UNAVAILABLE], levels: {} };
  const nowMs = now.getTime();
  const flows = facts.accounts.map(account => flowOf(account, facts, spec, nowMs));
  const made = flows.filter(flow => !isLeftToOther(flow));
  const planned = planLevels(facts, spec, { flows: made, nowMs });
  const wanted = new Set([...planned.wanted, ...made.flatMap(wantedOf)].map(({ name }) => name));
  const isWanted = (name: string): boolean => wanted.has(name);
  const isUnderstood = facts.notUnderstood === undefined;
  // Levels before flows: the API server ignores a FlowSchema while its level is missing.
  const items = isUnderstood
    ? [
        ...planned.items,
        ...flows.map(flow => (made.includes(flow) ? itemOf(flow, planned.isUsable) : withoutWrite(flow))),
        ...buildSurplus(facts.owner, { schemas, levels }, isWanted).map(otherItem),
      ]
    : endOfThrottles(flows, facts, { schemas, isWanted });
  const entries = made.map(entryOf);
  // Also the one that is about to be throttled: the write may fail.
  const mayThrottle = mode === "Enforce" && throttles(spec);
  const watched = mayThrottle ? made.filter(({ account }) => isThrottleable(account, facts)) : [];
  const states = watched.flatMap(({ before, throttle }) => [before?.state, throttle.state]);
  const isWriting = items.some(({ intents }) => intents.length > 0);
  return {
    mode,
    items,
    findings: isUnderstood ? [...planned.findings, ...findingsOfAll(facts, spec)] : [notUnderstood(facts)],
    entries,
    levels: Object.fromEntries(flows.map(({ account, level }) => [account.name, level])),
    recheckAfterMs: Math.min(measuredEvery(states), recheckOf(flows, nowMs)),
    // Also for what is about to be written or deleted: without the finalizer nothing would retry after a crash.
    needsCleanup: wanted.size > 0 || entries.length > 0 || isWriting || isLeft(facts),
  };
}

const UNAVAILABLE: Finding = {
  status: "Unknown",
  reason: "Unsupported",
  sentence: "No action: the API server does not serve flowcontrol.apiserver.k8s.io/v1, which requires Kubernetes 1.29.",
};

function notUnderstood({ notUnderstood: why = "" }: FlowIsolationFacts): Finding {
  const sentence = `No action but the end of throttles: ${why}`;
  return { status: "Unknown", reason: "ObserveFailed", sentence, isStalled: true };
}

const NONE: Finding = {
  status: "True",
  reason: "NothingToDo",
  sentence: "No ServiceAccount to isolate: every workload of the targets has the skip annotation.",
};

function wantedOf(flow: Flow): { readonly name: string }[] {
  return piecesOf(flow).map(({ wanted }) => wanted);
}

function itemOf(flow: Flow, isLevelUsable: boolean): FlowItem {
  const id = flowId(flow.account.name);
  const findings = findingsOfFlow(flow);
  const written = writeOfFlow(flow, isLevelUsable);
  if (written !== undefined) return { id, findings, ...written };
  const isMade = flow.own.is !== "missing";
  return { id, findings: findings.length > 0 || !isMade ? findings : [isolated(flow)], intents: [] };
}

function withoutWrite(flow: Flow): FlowItem {
  return { id: flowId(flow.account.name), findings: findingsOfFlow(flow), intents: [] };
}

/** Releases what is due, and what status does not mention; nothing else. */
function endOfThrottles(
  flows: readonly Flow[],
  facts: FlowIsolationFacts,
  {
    schemas,
    isWanted,
  }: { readonly schemas: readonly ClusterObjectView[]; readonly isWanted: (name: string) => boolean },
): FlowItem[] {
  const isDue = (flow: Flow): boolean => !isQuarantined(flow) && isInQuarantine(flow);
  const throttling = schemas.filter(view => levelOf(view) === QUARANTINE_LEVEL);
  return [
    ...flows.map(flow => (isDue(flow) ? itemOf(flow, true) : withoutWrite(flow))),
    ...buildSurplus(facts.owner, { schemas: throttling, levels: [] }, isWanted).map(otherItem),
  ];
}

function isolated(flow: Flow): Finding {
  return { status: "True", reason: "Isolated", sentence: `${nameOf(flow)} has its own flow on level ${flow.level}.` };
}

function otherItem(intent: Intent): FlowItem {
  const { verb, target } = intent;
  const what = `${verb} ${target.kind} ${target.name}`;
  return {
    id: otherId(intent),
    findings: [],
    intents: [intent],
    write: { step: "Other", why: what },
  };
}

/** Something exists that must be deleted with the object. */
function isLeft({ schemas, owner }: FlowIsolationFacts): boolean {
  return (schemas ?? []).some(view => isMadeFor(view, owner));
}

function findingsOfAll(facts: FlowIsolationFacts, spec: Spec): Finding[] {
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
    const sentence = "Runaways go undetected: the pods of the namespace cannot be read, so the thresholds are unknown.";
    return [{ status: "Unknown", reason: "ObserveFailed", sentence }];
  }
  const { found, read } = rates.servers;
  if (read >= found) return [];
  const sentence = `The request rates are lower bounds: only ${read} of ${found} API servers could be read.`;
  return [{ status: "True", reason: "Isolated", sentence }];
}

/** A request that is answered 401 has no flow yet, so a flood of them looks like no requests at all. */
function unauthenticated({ rates, accounts }: FlowIsolationFacts, { requestRate }: Spec): Finding[] {
  const { threshold, for: over } = requestRate;
  const { overMs } = readRate(rates, UNAUTHENTICATED, threshold, { maxBetweenMs: MAX_OLDEST_MS });
  if (accounts.length === 0 || overMs < parseDuration(over)) return [];
  const sentence = `The API servers answer 401 to more than ${threshold} requests/s. Such requests have no flow, so they are neither counted for a ServiceAccount nor throttled. tokenRestart finds pods with rejected tokens; else find the client in the audit log.`;
  return [{ status: "True", reason: "Unauthenticated", sentence }];
}

function recheckOf(flows: readonly Flow[], nowMs: number): number {
  // A probation whose rate is unknown lasts beyond its end.
  const left = flows.flatMap(({ throttle }) => throttle.untilMs ?? []).map(untilMs => untilMs - nowMs);
  return Math.min(...left.filter(ms => ms > 0).map(ms => Math.max(1_000, ms)));
}
