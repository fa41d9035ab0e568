import type { KindSuggestion } from "../../api/cluster-controller-resilience";
import type { KindWriters } from "../../core/progress";
import { groupBy } from "../../core/views";
import type { Facts } from "./facts";
import { workloadName } from "./selection";

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
    users: users.map(candidate => `${namespace.name}/${workloadName(candidate)}`),
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
