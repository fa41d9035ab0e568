import type { KindSuggestion } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import type { GaugeSample } from "../../core/metrics";
import type { KindWriters } from "../../core/progress";
import { groupBy } from "../../core/views";
import { workloadId } from "../../core/text";
import { type Candidate, type Facts, protectOf } from "./facts";
import { isBeingDeleted, isGenerated } from "./generated";
import { type NamespacePlan, type NamespaceShare, tally } from "./plan";
import { workloadsOf } from "./selection";

/** A workload that uses the API, or that a generated object lists, and its protection. */
export interface WorkloadProtection {
  /** As `namespace/Deployment/web`. */
  readonly workload: string;
  readonly usesApi: boolean;
  /** Whether it is protected, excluded on purpose, or neither. */
  readonly protection: "protected" | "excluded" | "unprotected";
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
    const id = workloadId(candidate);
    const by = protectors.get(id);
    const { usesApi } = candidate;
    if (!usesApi && !(by !== undefined && isGenerated(by))) return [];
    const [protection, reason] = judge(candidate, by, facts, plan);
    return [{ workload: `${facts.namespace.name}/${id}`, usesApi, protection, reason }];
  });
}

/** Returns the protections as the series of their metric. */
export function samplesOf(protections: readonly WorkloadProtection[]): GaugeSample[] {
  const counts = tally(protections.map(({ protection, reason }) => `${protection}/${reason}`));
  return Array.from(counts, ([key, value]) => {
    const [protection = "", reason = ""] = key.split("/");
    return { labels: { protection, reason }, value };
  });
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
  { shares }: NamespacePlan,
): [WorkloadProtection["protection"], string] {
  const { namespace } = facts;
  if (candidate.skip || namespace.skip) return ["excluded", "Skipped"];
  const mode = protector && modeOf(protector, facts);
  if (mode !== undefined) return [mode === "Suspended" ? "excluded" : "protected", mode];
  if (protectOf(candidate) === false || protectOf(namespace) === false) return ["excluded", "OptedOut"];
  const reason = whyUnprotected(workloadId(candidate), [...shares.values()]);
  return [reason === "OperatorNamespace" || reason === "Terminating" ? "excluded" : "unprotected", reason];
}

/** By the oldest ClusterControllerResilience. */
function whyUnprotected(workload: string, shares: readonly NamespaceShare[]): string {
  const [oldest] = shares;
  if (oldest === undefined) return "NamespaceNotSelected";
  const isSelected = shares.some(({ selected }) => selected.has(workload));
  return (isSelected ? undefined : oldest.excluded.get(workload)) ?? "Pending";
}

/**
 * Returns the kinds whose status a workload writes and that no `stallDetection` follows: if that workload hangs, it stays Running, Ready and the
 * holder of its Lease. The names of field managers only suggest who it is, so nothing but a suggestion may rest on it. Sorted. Pure.
 *
 * @param workloads of the cluster; those that do not use the API write nothing
 * @param followed kinds that a `stallDetection` follows
 */
export function unfollowedKinds(
  kinds: readonly KindWriters[],
  workloads: readonly Pick<WorkloadProtection, "workload" | "usesApi">[],
  followed: ReadonlySet<string>,
): Required<KindSuggestion>[] {
  if (kinds.length === 0) return [];
  const users = workloads.flatMap(({ workload, usesApi }) => (usesApi ? workload : []));
  const byName = groupBy(users, user => user.slice(user.lastIndexOf("/") + 1));
  const found = kinds
    .filter(({ kind }) => !followed.has(kind))
    .flatMap(({ apiVersion, kind, writers }) => {
      const handlers = new Set(writers.flatMap(writer => handlerOf(writer, byName) ?? []));
      return Array.from(handlers, workload => ({ workload, apiVersion, kind }));
    });
  const rank = ({ workload, apiVersion, kind }: KindSuggestion): string => `${workload} ${kind} ${apiVersion}`;
  return found.toSorted((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/**
 * The workload whose name the name of a field manager contains as whole words, the longest one: programs use their own name by default, often with
 * a part of themselves, such as `cert-manager-certificates-readiness`. Undefined: none, or several.
 */
function handlerOf(writer: string, workloads: ReadonlyMap<string, readonly string[]>): string | undefined {
  const words = writer.split("-");
  const parts = words.flatMap((_, from) => words.slice(from).map((__, i) => words.slice(from, from + i + 1).join("-")));
  const names = [...new Set(parts)].filter(name => workloads.has(name));
  const longest = Math.max(...names.map(({ length }) => length));
  const [best, ...more] = names.filter(({ length }) => length === longest).flatMap(name => workloads.get(name) ?? []);
  return more.length === 0 ? best : undefined;
}
