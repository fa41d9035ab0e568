import type { DaemonSetStatus } from "../../../api/controller-resilience";
import { CLOCK_SKEW_MS, toSeconds } from "../../../core/time";
import { caseOf as templateCaseOf, type Case } from "../case";
import { inputOf, type DaemonSetFacts, type Spec, type TokenLifetimeFacts } from "../facts";
import { planTemplate } from "../template";
import { isMade, madeMs, pairOf, type Pair } from "./pair";

/**
 * The watch caches of all API servers have a policy by then, in milliseconds after it was made: they look once a second, and a watch that
 * broke is begun again within half a minute.
 */
const IN_EFFECT_AFTER_MS = 30_000;

/** One DaemonSet before the checks, with the policy that is to shorten its pods' tokens. */
export interface AdmissionCase extends Case {
  readonly pair: Pair;
}

/** The case of one DaemonSet. Its template is not changed, so what stands in it is what it was before. */
export function caseOf(own: DaemonSetFacts, facts: TokenLifetimeFacts, spec: Spec, nowMs: number): AdmissionCase {
  const given = templateCaseOf(own, facts, spec, nowMs);
  const { plan } = given;
  const kept = plan.kind === "Change" ? { ...plan, previous: own.record?.previous ?? [] } : plan;
  return { ...given, plan: kept, pair: pairOf(own.view, facts, spec) };
}

/** The operator has put something into the template that can be given back: the policy does the same. */
export function isReleasable(own: DaemonSetFacts): boolean {
  const asItWas = { expirationSeconds: Infinity, defaultToken: "Leave" } as const;
  return planTemplate(inputOf(own), asItWas, own.record?.previous).kind === "Change";
}

/** Its pods would get tokens that live too long. */
export function isInNeed(given: AdmissionCase): boolean {
  return given.plan.kind === "Change" || isReleasable(given.own);
}

/** When the pair was made, or last put right; undefined while it is not all there. */
export function pairMs({ own, pair }: AdmissionCase): number | undefined {
  if (!isMade(pair)) return undefined;
  return Math.max(madeMs(pair), Date.parse(own.record?.appliedTime ?? "") || 0);
}

/** From when on every new pod has the shorter token; Infinity while the pair is not all there. */
export function inEffectMs(given: AdmissionCase): number {
  return (pairMs(given) ?? Infinity) + IN_EFFECT_AFTER_MS;
}

/** From when on no new pod has it any more, after the pair was deleted at that time. */
export function outOfEffectMs(deletedTime: string | undefined): number {
  return (Date.parse(deletedTime ?? "") || 0) + IN_EFFECT_AFTER_MS;
}

/** What status tells of a DaemonSet beside what it tells of its template: the pair, if any of it is there or about to be. */
export function withPair(entry: DaemonSetStatus, given: AdmissionCase, isAboutToBe: boolean): DaemonSetStatus {
  const ms = pairMs(given);
  return {
    ...entry,
    ...(isAboutToBe || given.pair.halves.some(({ view }) => view !== undefined) ? { policy: given.pair.name } : {}),
    ...(ms === undefined ? {} : { appliedTime: toSeconds(new Date(ms)) }),
    ...(isUnnoted(given) ? { changes: (entry.changes ?? 0) + 1 } : {}),
  };
}

/** The pair was made or put right since status last told of it: the operator has died in between, or the answer was lost. */
function isUnnoted({ own, pair }: AdmissionCase): boolean {
  const notedMs = Date.parse(own.record?.appliedTime ?? "") || -Infinity;
  return isMade(pair) && madeMs(pair) > notedMs + CLOCK_SKEW_MS;
}
