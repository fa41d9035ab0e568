import type { ControllerResilience } from "../../api/controller-resilience";
import { type Candidate, type Facts, type Protection, workloadName } from "../../core/cluster-wide";
import { isBeingDeleted, isGenerated } from "./generated";
import { type NamespacePlan, tally } from "./plan";
import { workloadsOf } from "./selection";

/** The coverage of one namespace, or of several. */
export interface Coverage {
  /** Number of workloads by protection and reason, as `unprotected/Pending`. */
  readonly counts: ReadonlyMap<string, number>;
  /** Some of the unprotected workloads, as `namespace/Deployment/web`. */
  readonly examples: readonly string[];
}

/** Most unprotected workloads that are named. */
const MAX_EXAMPLES = 3;

/** A workload that uses the API, and its protection. */
export interface WorkloadProtection {
  /** As `Deployment/web`. */
  readonly workload: string;
  readonly protection: Protection;
  /**
   * protected: Enforce, Observe or Suspended. excluded: OptedOut, Skipped, OperatorNamespace or Terminating. unprotected:
   * NamespaceNotSelected, KindNotSelected, WorkloadNotSelected or Pending, which is selected but not protected yet.
   */
  readonly reason: string;
}

/** Returns the protection of each workload of a namespace that uses the API. Pure. */
export function protectionsOf(facts: Facts, plan: NamespacePlan): WorkloadProtection[] {
  const protectors = protectorsOf(facts);
  return facts.candidates.flatMap(candidate => {
    const workload = workloadName(candidate);
    const by = protectors.get(workload);
    if (!candidate.usesApi && !(by !== undefined && isGenerated(by))) return [];
    const [protection, reason] = judge(candidate, by, facts, plan);
    return [{ workload, protection, reason }];
  });
}

/** Counts the workloads of a namespace that use the API, by their protection. Pure. */
export function coverageOf(facts: Facts, plan: NamespacePlan): Coverage {
  const found = protectionsOf(facts, plan);
  const open = found.filter(({ protection }) => protection === "unprotected");
  const examples = open.map(({ workload }) => `${facts.namespace.name}/${workload}`).sort();
  return {
    counts: tally(found.map(({ protection, reason }) => `${protection}/${reason}`)),
    examples: examples.slice(0, MAX_EXAMPLES),
  };
}

/** Adds up the coverage of namespaces. */
export function totalCoverage(parts: readonly Coverage[]): Coverage {
  const counts = new Map<string, number>();
  for (const part of parts) for (const [key, number] of part.counts) counts.set(key, (counts.get(key) ?? 0) + number);
  return { counts, examples: parts.flatMap(({ examples }) => examples).slice(0, MAX_EXAMPLES) };
}

/** Returns the counts of one protection by reason. */
export function countsOf({ counts }: Coverage, protection: Protection): [reason: string, count: number][] {
  return [...counts].flatMap(([key, number]) => {
    const [of, reason = ""] = key.split("/");
    return of === protection ? [[reason, number] as [string, number]] : [];
  });
}

/** Returns the number of workloads of one protection. */
export function countOf(coverage: Coverage, protection: Protection): number {
  return countsOf(coverage, protection).reduce((sum, [, number]) => sum + number, 0);
}

/** The object that protects each workload; of several, one that acts. */
function protectorsOf(facts: Facts): Map<string, ControllerResilience> {
  const protectors = new Map<string, ControllerResilience>();
  for (const object of facts.objects.filter(object => !isBeingDeleted(object))) {
    for (const workload of workloadsOf(object, facts.candidates)) {
      const other = protectors.get(workload);
      if (other === undefined || modeOf(other, facts) !== "Enforce") protectors.set(workload, object);
    }
  }
  return protectors;
}

/** `--mode=Observe` wins over the mode of every object. */
function modeOf({ spec: { mode, suspend } }: ControllerResilience, { observes }: Facts): string {
  if (suspend) return "Suspended";
  return observes === true ? "Observe" : mode;
}

function judge(
  candidate: Candidate,
  protector: ControllerResilience | undefined,
  facts: Facts,
  plan: NamespacePlan,
): [Protection, string] {
  const { namespace } = facts;
  if (candidate.skip || namespace.skip) return ["excluded", "Skipped"];
  if (protector !== undefined) return ["protected", modeOf(protector, facts)];
  if (candidate.protect === false || namespace.protect === false) return ["excluded", "OptedOut"];
  const reason = whyUnprotected(candidate, plan);
  return [reason === "OperatorNamespace" || reason === "Terminating" ? "excluded" : "unprotected", reason];
}

/** By the oldest ClusterControllerResilience. */
function whyUnprotected(candidate: Candidate, { shares }: NamespacePlan): string {
  const workload = workloadName(candidate);
  const [oldest, ...others] = shares.values();
  if (oldest === undefined) return "NamespaceNotSelected";
  const isSelected = [oldest, ...others].some(({ selected }) => selected.has(workload));
  return (isSelected ? undefined : oldest.excluded.get(workload)) ?? "Pending";
}
