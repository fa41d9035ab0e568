import type { ControllerResilience } from "../../api/controller-resilience";
import { type Candidate, type CoverageCount, type Facts, type Protection, workloadName } from "../../core/cluster-wide";
import { isBeingDeleted, isGenerated } from "./generated";
import type { NamespacePlan } from "./plan";
import { namespaceExclusion, workloadExclusion, workloadsOf } from "./selection";

/** The coverage of one namespace, or of several. */
export interface Coverage {
  readonly counts: readonly CoverageCount[];
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
  const counts = new Map<string, CoverageCount>();
  const examples: string[] = [];
  for (const { workload, protection, reason } of protectionsOf(facts, plan)) {
    const key = `${protection}/${reason}`;
    counts.set(key, { protection, reason, count: (counts.get(key)?.count ?? 0) + 1 });
    if (protection === "unprotected") examples.push(`${facts.namespace.name}/${workload}`);
  }
  return { counts: [...counts.values()], examples: examples.sort().slice(0, MAX_EXAMPLES) };
}

/** Adds up the coverage of namespaces. */
export function totalCoverage(parts: Iterable<Coverage>): Coverage {
  const counts = new Map<string, CoverageCount>();
  const examples: string[] = [];
  for (const part of parts) {
    for (const { protection, reason, count } of part.counts) {
      const key = `${protection}/${reason}`;
      counts.set(key, { protection, reason, count: (counts.get(key)?.count ?? 0) + count });
    }
    if (examples.length < MAX_EXAMPLES) examples.push(...part.examples.slice(0, MAX_EXAMPLES - examples.length));
  }
  return { counts: [...counts.values()], examples };
}

/** Returns the sum of the counts of one protection. */
export function countOf({ counts }: Coverage, protection: Protection): number {
  return counts.filter(count => count.protection === protection).reduce((sum, { count }) => sum + count, 0);
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
  const reason = whyUnprotected(candidate, facts, plan);
  return [reason === "OperatorNamespace" || reason === "Terminating" ? "excluded" : "unprotected", reason];
}

function whyUnprotected(candidate: Candidate, facts: Facts, { shares }: NamespacePlan): string {
  const { namespace, clusterObjects, ownNamespace } = facts;
  const workload = workloadName(candidate);
  if ([...shares.values()].some(({ selected }) => selected.has(workload))) return "Pending";
  const [first] = clusterObjects;
  if (first === undefined) return "NamespaceNotSelected";
  const outside = namespaceExclusion(namespace, first.spec, ownNamespace);
  return outside ?? workloadExclusion(candidate, first.spec, false) ?? "Pending";
}
