import type { Reason } from "../../api/conditions";
import type { FlowStatus } from "../../api/controller-resilience";
import type { Intent } from "../../core/intent";
import type { Decision } from "../../core/legacy-remedy";
import { joinSentences } from "../kit/summarize";
import { announce } from "./announce";
import { assessFlow } from "./assess-flow";
import { assessLevels, type LevelAssessment } from "./assess-levels";
import { measuredEvery, type FlowIsolationFacts, type Spec } from "./facts";
import type { Finding } from "./finding";
import { entryOf, flowOf, piecesOf, type Flow } from "./flow";
import { buildScaling } from "./scale";
import { buildSurplus, isMadeFor } from "./surplus";

/** Worst first: the first of these among the findings becomes the condition's reason. */
const BY_SEVERITY: readonly Reason[] = [
  "ScaledToZero",
  "Throttled",
  "Runaway",
  "NameTaken",
  "LevelRefused",
  "LevelMissing",
  "FlowContested",
  "FlowShadowed",
  "Dangling",
  "WouldIsolate",
  "Provisioning",
  "TargetNotFound",
  "RateUnknown",
  "Elevated",
  "Probation",
  "Isolated",
  "NoServiceAccounts",
];

/** What the facts amount to. Pure and total. */
export function decideFlows(facts: FlowIsolationFacts, spec: Spec, now: Date): Decision {
  const { schemas, levels } = facts;
  if (schemas === null || levels === null) return unavailable();
  const nowMs = now.getTime();
  const flows = facts.accounts.map(account => flowOf(account, facts, spec, nowMs));
  const assessed = assessLevels(facts, spec, flows);
  const wanted = new Set([...assessed.wanted, ...flows.flatMap(wantedOf)].map(({ name }) => name));
  const others = [
    ...buildScaling(facts, flows),
    ...buildSurplus(facts.owner, { schemas, levels }, name => wanted.has(name)),
  ];
  // Levels before flows: a FlowSchema is ignored while its level is missing.
  const findings = [...findingsOf(facts, assessed, flows), ...changing(others, facts)];
  const intents = findings.flatMap(finding => finding.intents ?? []);
  const entries = flows.map(entryOf);
  const flowStatus = [...entries, ...stillScaled(facts)];
  return {
    ...verdictOf(findings.toSorted(bySeverity)),
    intents,
    recheckAfterMs: Math.min(measuredEvery(entries, { mode: facts.mode, spec }, nowMs), recheckOf(flows, nowMs)),
    // What is about to be written has to be taken away, or was to be: with the finalizer off, nobody would try again.
    needsCleanup: wanted.size > 0 || flowStatus.length > 0 || intents.length > 0 || isLeft(facts),
    parts: { flows: flowStatus },
    announcements: flows.flatMap(announce),
  };
}

/** Something is there that has to be taken away, or given back, with the object. */
function isLeft({ schemas, levels, owner, scaledDown }: FlowIsolationFacts): boolean {
  return scaledDown.length > 0 || [...(schemas ?? []), ...(levels ?? [])].some(view => isMadeFor(view, owner));
}

function unavailable(): Decision {
  const message =
    "The API server does not serve flowcontrol.apiserver.k8s.io/v1, which came with Kubernetes 1.29: nothing is done.";
  return { status: "Unknown", reason: "FlowControlUnavailable", message, intents: [] };
}

function wantedOf(flow: Flow): { readonly name: string }[] {
  return piecesOf(flow).map(({ wanted }) => wanted);
}

function findingsOf(facts: FlowIsolationFacts, levels: LevelAssessment, flows: readonly Flow[]): Finding[] {
  return [
    ...levels.findings,
    ...flows.flatMap(flow => assessFlow(flow, levels.isUsable)),
    ...facts.missingTargets.map(missing),
    ...measuring(facts),
    ...(facts.accounts.length + facts.missingTargets.length === 0 ? [none()] : []),
  ];
}

function missing(target: string): Finding {
  return { status: "False", reason: "TargetNotFound", sentence: `There is no ${target} (yet).` };
}

function none(): Finding {
  const sentence = "No ServiceAccount is to be looked after: every workload of the targets has the skip annotation.";
  return { status: "True", reason: "NoServiceAccounts", sentence };
}

function measuring({ rates, accounts }: FlowIsolationFacts): Finding[] {
  if (accounts.length === 0) return [];
  if (rates.unknown !== undefined) {
    const sentence = `No runaway can be told, since the request rates are not known. ${rates.unknown}`;
    return [{ status: "Unknown", reason: "RateUnknown", sentence }];
  }
  const { found, read } = rates.servers;
  if (read >= found) return [];
  const sentence = `Only ${read} of ${found} API servers could be read, so the request rates are lower bounds.`;
  return [{ status: "True", reason: "Isolated", sentence }];
}

/** Whatever else is to be written. */
function changing(intents: readonly Intent[], { mode }: FlowIsolationFacts): Finding[] {
  if (intents.length === 0) return [];
  const what = intents.map(({ verb, target }) => `${verb} ${target.kind} ${target.name}`).join(", ");
  return mode === "Observe"
    ? [{ status: "False", reason: "WouldIsolate", sentence: `Would be done now: ${what}.`, intents }]
    : [
        {
          status: "False",
          reason: "Provisioning",
          sentence: `To be done: ${what}.`,
          intents,
          isProgressing: true,
        },
      ];
}

function bySeverity(a: Finding, b: Finding): number {
  return BY_SEVERITY.indexOf(a.reason) - BY_SEVERITY.indexOf(b.reason);
}

function verdictOf(
  findings: readonly Finding[],
): Pick<Decision, "status" | "reason" | "message" | "progressing" | "stalled"> {
  const worst = findings[0] ?? none();
  const stalled = findings.find(({ isStalled }) => isStalled);
  const message = joinSentences(
    findings.map(({ sentence }) => sentence),
    rest => `status.flows tells more of ${rest} others.`,
  );
  return {
    status: worst.status,
    reason: worst.reason,
    message,
    progressing: findings.some(({ isProgressing }) => isProgressing),
    ...(stalled === undefined ? {} : { stalled: { reason: stalled.reason, message: stalled.sentence } }),
  };
}

/** Of a ServiceAccount that is no target's any more, what it has lost has to be given back before it is forgotten. */
function stillScaled({ former, scaledDown }: FlowIsolationFacts): FlowStatus[] {
  const names = new Set(scaledDown.map(({ serviceAccountName }) => serviceAccountName));
  return former.filter(({ serviceAccount }) => names.has(serviceAccount));
}

function recheckOf(flows: readonly Flow[], nowMs: number): number {
  // A probation whose rate is not known goes on beyond its end.
  const left = flows.flatMap(({ breaker }) => breaker.untilMs ?? []).map(untilMs => untilMs - nowMs);
  return Math.min(...left.filter(ms => ms > 0).map(ms => Math.max(1_000, ms)));
}
