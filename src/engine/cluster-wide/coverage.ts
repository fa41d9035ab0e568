import type { KindSuggestion } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { GaugeSample } from "../../core/metrics";
import type { KindWriters } from "../../core/progress";
import { groupBy } from "../../core/views";
import { workloadId } from "../../core/text";
import type { Candidate, Facts } from "./facts";
import { isBeingDeleted, isGenerated } from "./generated";
import { type NamespacePlan, tally } from "./plan";
import { workloadsOf } from "./selection";

/** Whether a workload that uses the API is protected, excluded on purpose, or neither. */
type Protection = "protected" | "excluded" | "unprotected";

/** The coverage of one namespace, or of several. */
export interface Coverage {
  /** Number of workloads by protection and reason. */
  readonly counts: Readonly<Record<Protection, ReadonlyMap<string, number>>>;
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
   * protected: Enforce or Observe. excluded: Suspended, OptedOut, Skipped, OperatorNamespace or Terminating. unprotected:
   * NamespaceNotSelected, KindNotSelected, WorkloadNotSelected or Pending, which is selected but not protected yet.
   */
  readonly reason: string;
}

/** Returns the protection of each workload of a namespace that uses the API. Pure. */
export function protectionsOf(facts: Facts, plan: NamespacePlan): WorkloadProtection[] {
  const protectors = protectorsOf(facts);
  return facts.candidates.flatMap(candidate => {
    const workload = workloadId(candidate);
    const by = protectors.get(workload);
    if (!candidate.usesApi && !(by !== undefined && isGenerated(by))) return [];
    const [protection, reason] = judge(candidate, by, facts, plan);
    return [{ workload, protection, reason }];
  });
}

/** Counts the workloads of a namespace that use the API, by their protection. Pure. */
export function coverageOf(facts: Facts, plan: NamespacePlan): Coverage {
  const found = protectionsOf(facts, plan);
  const of = (wanted: Protection): WorkloadProtection[] => found.filter(({ protection }) => protection === wanted);
  const examples = of("unprotected").map(({ workload }) => `${facts.namespace.name}/${workload}`);
  return {
    counts: byProtection(wanted => tally(of(wanted).map(({ reason }) => reason))),
    examples: examples.sort().slice(0, MAX_EXAMPLES),
  };
}

/** Adds up the coverage of namespaces. */
export function totalCoverage(parts: readonly Coverage[]): Coverage {
  const total = (wanted: Protection): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const part of parts)
      for (const [reason, number] of part.counts[wanted]) counts.set(reason, (counts.get(reason) ?? 0) + number);
    return counts;
  };
  // Sorted, since namespaces are looked at in another order by each leader.
  const examples = parts.flatMap(part => part.examples).sort();
  return { counts: byProtection(total), examples: examples.slice(0, MAX_EXAMPLES) };
}

function byProtection<T>(of: (protection: Protection) => T): Record<Protection, T> {
  return { protected: of("protected"), excluded: of("excluded"), unprotected: of("unprotected") };
}

/** Returns the number of workloads of one protection. */
export function countOf({ counts }: Coverage, protection: Protection): number {
  return [...counts[protection].values()].reduce((sum, number) => sum + number, 0);
}

/** Returns the coverage as the series of its metric. */
export function samplesOf({ counts }: Coverage): GaugeSample[] {
  return Object.entries(counts).flatMap(([protection, reasons]) =>
    Array.from(reasons, ([reason, value]) => ({ labels: { protection, reason }, value })),
  );
}

/** The object that protects each workload; of several, one that acts, else one that is not suspended. */
function protectorsOf(facts: Facts): Map<string, ControllerResilience> {
  const protectors = new Map<string, ControllerResilience>();
  const objects = facts.objects.filter(object => !isBeingDeleted(object));
  for (const object of objects.toSorted((a, b) => Number(b.spec.suspend) - Number(a.spec.suspend))) {
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
  const mode = protector && modeOf(protector, facts);
  if (mode !== undefined) return [mode === "Suspended" ? "excluded" : "protected", mode];
  if (candidate.protect === false || namespace.protect === false) return ["excluded", "OptedOut"];
  const reason = whyUnprotected(candidate, plan);
  return [reason === "OperatorNamespace" || reason === "Terminating" ? "excluded" : "unprotected", reason];
}

/** By the oldest ClusterControllerResilience. */
function whyUnprotected(candidate: Candidate, { shares }: NamespacePlan): string {
  const workload = workloadId(candidate);
  const [oldest, ...others] = shares.values();
  if (oldest === undefined) return "NamespaceNotSelected";
  const isSelected = [oldest, ...others].some(({ selected }) => selected.has(workload));
  return (isSelected ? undefined : oldest.excluded.get(workload)) ?? "Pending";
}

/** What a namespace says of who handles which kinds. */
export interface HandlerFacts {
  /** Workloads that use the API, as `namespace/Deployment/web`. */
  readonly users: readonly string[];
  /** Kinds that a `stallDetection` follows. */
  readonly followed: readonly string[];
}

/** Returns what the facts of a namespace say of who handles which kinds. */
export function handlerFacts({ namespace, candidates, objects }: Facts): HandlerFacts {
  const users = candidates.filter(({ usesApi }) => usesApi);
  return {
    users: users.map(candidate => `${namespace.name}/${workloadId(candidate)}`),
    followed: objects.flatMap(({ spec }) => spec.stallDetection?.progress ?? []).map(({ kind }) => kind),
  };
}

/**
 * Returns the kinds whose status a workload writes and that no `stallDetection` follows: if that workload hangs, it stays Running, Ready and the
 * holder of its Lease. The names of field managers only suggest who it is, so nothing but a suggestion may rest on it. Sorted. Pure.
 */
export function unfollowedKinds(
  kinds: readonly KindWriters[],
  facts: readonly HandlerFacts[],
): Required<KindSuggestion>[] {
  if (kinds.length === 0) return [];
  const followed = new Set(facts.flatMap(one => one.followed));
  const users = groupBy(
    facts.flatMap(one => one.users),
    user => user.slice(user.lastIndexOf("/") + 1),
  );
  const found = kinds
    .filter(({ kind }) => !followed.has(kind))
    .flatMap(({ apiVersion, kind, writers }) => {
      const workloads = new Set(writers.flatMap(writer => handlerOf(writer, users) ?? []));
      return Array.from(workloads, workload => ({ workload, apiVersion, kind }));
    });
  const rank = ({ workload, apiVersion, kind }: KindSuggestion): string => `${workload} ${kind} ${apiVersion}`;
  return found.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/**
 * The workload whose name the name of a field manager contains as whole words, the longest one: programs use their own name by default, often with
 * a part of themselves, such as `cert-manager-certificates-readiness`. Undefined: none, or several.
 */
function handlerOf(writer: string, users: ReadonlyMap<string, readonly string[]>): string | undefined {
  const words = writer.split("-");
  const parts = words.flatMap((_, from) => words.slice(from).map((__, i) => words.slice(from, from + i + 1).join("-")));
  const names = [...new Set(parts)].filter(name => users.has(name));
  const longest = Math.max(...names.map(({ length }) => length));
  const [best, ...more] = names.filter(({ length }) => length === longest).flatMap(name => users.get(name) ?? []);
  return more.length === 0 ? best : undefined;
}
