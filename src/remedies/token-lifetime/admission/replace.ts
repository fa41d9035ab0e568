import type { RestartStatus } from "../../../api/controller-resilience";
import { toSeconds } from "../../../core/time";
import { isOpen } from "../../../core/restarts/budget";
import type { Assessment } from "../assessment";
import { entryOf, life, nameOf } from "../case";
import { obstacle, ROLLING_MS, waitingFor } from "../checks";
import { isBounded, isCanary, livingOf, type PodFacts } from "../facts";
import { isSettled } from "../rollout";
import { trialMs } from "../watch";
import { buildEviction, workloadOf } from "./build";
import type { AdmissionCase } from "./case";

/** Pods with a longer token, one of which is to be replaced, or why it is not. */
export function replacing(given: AdmissionCase): Assessment | undefined {
  const { own, spec } = given;
  const long = livingOf(own).filter(({ pod }) => !isBounded(pod, spec));
  if (long.length === 0) return undefined;
  const next = long.filter(({ pod }) => !pod.skip).toSorted(byAge)[0];
  if (next === undefined) return onlySkipped(given);
  return held(given) ?? evict(given, next);
}

function byAge({ pod: a }: PodFacts, { pod: b }: PodFacts): number {
  return a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1);
}

function onlySkipped(given: AdmissionCase): Assessment {
  const sentence = `${progressOf(given)}; the others have the skip annotation and are left alone.`;
  return { status: "True", reason: "LeftAlone", sentence, entry: entryOf(given, "LeftAlone") };
}

/** The first that has something to say holds the next replacement back. */
function held(given: AdmissionCase): Assessment | undefined {
  return stuck(given) ?? watching(given) ?? unsettled(given) ?? onTrial(given);
}

/** The last successor did not become Ready: the next would be one pod more that is down. */
function stuck(given: AdmissionCase): Assessment | undefined {
  const last = restartsOf(given).at(-1);
  if (last?.outcome !== "Ineffective" || isSettled(given.own.view)) return undefined;
  const sentence = `${progressOf(given)}. Pod ${last.pod} was replaced, and the DaemonSet has not all its pods since: see kubectl rollout status. No more are replaced.`;
  return {
    status: "False",
    reason: "RolloutStuck",
    sentence,
    entry: entryOf(given, "Stuck"),
    isStalled: true,
    recheckAfterMs: ROLLING_MS,
  };
}

/** One pod at a time, over all DaemonSets of the object. */
function watching(given: AdmissionCase): Assessment | undefined {
  const open = given.facts.restarts.find(isOpen);
  if (open === undefined) return undefined;
  const whose = open.workload === workloadOf(given.own.view) ? "" : ` of ${open.workload}`;
  return underWay(given, `pod ${open.pod}${whose} was replaced, and its successor is being watched`, ROLLING_MS);
}

function unsettled(given: AdmissionCase): Assessment | undefined {
  const why = obstacle(given);
  return why === undefined ? undefined : waitingFor(given, why);
}

/** The first pods with the shorter token have to outlive it before any other gets one. */
function onTrial(given: AdmissionCase): Assessment | undefined {
  const { own, spec, nowMs } = given;
  const canaries = livingOf(own).filter(({ pod }) => isCanary(pod, spec));
  if (canaries.length === 0) return undefined;
  const endMs = Math.min(...canaries.map(({ pod }) => pod.createdAtMs)) + trialMs(spec);
  if (nowMs >= endMs) return undefined;
  const what = `the first with it has to work until ${toSeconds(new Date(endMs))} before the next pod is replaced`;
  return underWay(given, what, endMs - nowMs);
}

function underWay(given: AdmissionCase, what: string, recheckAfterMs: number): Assessment {
  return {
    status: "False",
    reason: "Replacing",
    sentence: `${progressOf(given)}; ${what}.`,
    entry: entryOf(given, "Rolling"),
    isProgressing: true,
    recheckAfterMs,
  };
}

function evict(given: AdmissionCase, { pod }: PodFacts): Assessment {
  const { own, spec, facts } = given;
  const why = `Pod ${pod.name} of ${nameOf(given)} has a token that lives longer than ${life(spec)}; it is replaced, and its successor gets a shorter one.`;
  const finding = underWay(given, `pod ${pod.name} is replaced now`, ROLLING_MS);
  const intents = [buildEviction(pod, own.view, why)];
  if (facts.mode === "Enforce") return { ...finding, intents };
  const sentence = `${progressOf(given)}; pod ${pod.name} would be replaced now.`;
  return { ...finding, intents, reason: "WouldChange", sentence, isProgressing: false };
}

function progressOf(given: AdmissionCase): string {
  const { own, spec } = given;
  const living = livingOf(own);
  const short = living.filter(({ pod }) => isBounded(pod, spec)).length;
  return `${nameOf(given)}: ${short} of ${living.length} pods have a token that lives ${life(spec)}`;
}

function restartsOf({ own, facts }: AdmissionCase): readonly RestartStatus[] {
  return facts.restarts.filter(({ workload }) => workload === workloadOf(own.view));
}
