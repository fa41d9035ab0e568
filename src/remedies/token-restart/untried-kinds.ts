import type { RestartStatus } from "../../api/controller-resilience";
import { isOpen, isUnproven } from "../../core/restarts";
import type { Assessment } from "./assessment";
import { nextCandidate, nextClaim, refusedRestart, type WorkloadState } from "./candidates";
import { parseWorkloadId, workloadId } from "./observed";
import { isTypedKind } from "./pod-owner";
import { describeShare } from "./wording";

// Whether owners of an unknown kind recreate their pods is seen on one pod of the kind: many have one pod each, so a limit per owner would
// not prevent that all of them are lost. Pure.

/** A workload, and what the checks found. */
export interface Assessed {
  readonly state: WorkloadState;
  readonly assessment: Assessment;
}

/** The restart that shows whether a kind recreates its pods. */
interface Trial {
  readonly workload: string;
  readonly pod: string;
}

/** Defers the restarts of each unknown kind, except one, until an owner of that kind has replaced a pod. `history` is of all workloads. */
export function tryKinds(assessed: readonly Assessed[], history: readonly RestartStatus[]): Assessed[] {
  const firsts = firstOfKinds(assessed);
  return assessed.map(one => {
    const { kind } = one.state.workload.view;
    if (!isPlanned(one) || isTypedKind(kind) || isTried(kind, history)) return one;
    const open = history.find(entry => isOpen(entry) && kindOf(entry) === kind);
    const first = firsts.get(kind);
    if (open === undefined && (first === undefined || first === one)) return one;
    const trial = open ?? trialOf(first ?? one);
    return { ...one, assessment: waitFor(trial, one.state) };
  });
}

function isPlanned({ assessment }: Assessed): boolean {
  return (assessment.intents ?? []).length > 0;
}

function isTried(kind: string, history: readonly RestartStatus[]): boolean {
  return history.some(
    entry => kindOf(entry) === kind && (entry.outcome === "Recovered" || entry.outcome === "Replaced"),
  );
}

function kindOf({ workload }: RestartStatus): string {
  return parseWorkloadId(workload).kind;
}

/** By kind: the planned restart that has been refused least and is proven best, so that one that cannot happen delays no others. */
function firstOfKinds(assessed: readonly Assessed[]): ReadonlyMap<string, Assessed> {
  const firsts = new Map<string, Assessed>();
  const planned = assessed.filter(one => isPlanned(one)).toSorted((a, b) => rankOf(a) - rankOf(b));
  for (const one of planned) {
    const { kind } = one.state.workload.view;
    if (!firsts.has(kind)) firsts.set(kind, one);
  }
  return firsts;
}

function rankOf({ state }: Assessed): number {
  const candidate = nextCandidate(state);
  const claim = nextClaim(state);
  const isRefused = candidate !== undefined && refusedRestart(candidate, state) !== undefined;
  return (isRefused ? 2 : 0) + (claim !== undefined && isUnproven(claim) ? 1 : 0);
}

function trialOf({ state }: Assessed): Trial {
  return { workload: workloadId(state.workload.view), pod: nextCandidate(state)?.view.name ?? "" };
}

function waitFor({ workload, pod }: Trial, state: WorkloadState): Assessment {
  const share = describeShare(state.workload, state.rejected);
  const { kind } = parseWorkloadId(workload);
  const sentence = `${share}; no owner of kind ${kind} has replaced an evicted pod yet, so it waits until ${workload} has replaced pod ${pod}.`;
  const waitHint = `check why pod ${pod} was not replaced; if ${workload} was scaled down or deleted, change the spec`;
  return { status: "False", reason: "RestartDeferred", sentence, isProgressing: true, waitHint };
}
