import { CLOCK_SKEW_MS } from "../../core/time";
import type { PodView } from "../../core/views";
import { persistenceOf, type Persistence, type PersistenceRule, type UnauthorizedTrace } from "../persistence";
import type { NodeFailures } from "./traces";

/** Sandbox failures on the node of a CNI agent. */
export interface SandboxFailures extends Persistence {
  /** Pods of only one namespace failed, and it is not the agent's. */
  readonly isOneSided?: boolean;
  /** Present where the failures would be persistent if pods of another namespace failed too. */
  readonly onlyNamespace?: string;
}

/** Failures of pods of two namespaces confirm each other, if each namespace has this many. */
const CONFIRMING_OCCASIONS = 2;

/** Reports whether a pod may have written a credential on its node: it has hostNetwork and a CNI folder of the host. */
export function canBeAgent({ hostNetwork, cniFolder }: PodView): boolean {
  return hostNetwork === true && cniFolder === true;
}

interface Context {
  readonly failures: NodeFailures;
  /** Of the object, and so of its agents. Who may write Events there may as well delete the agents' pods. */
  readonly namespace: string;
  readonly rule: PersistenceRule;
  readonly nowMs: number;
}

/** Failures since a time. They are persistent only if pods of two namespaces fail, or those of the object's own. Pure. */
export function failuresSince(sinceMs: number, context: Context): SandboxFailures {
  const { failures, namespace } = context;
  const all = stateSince(failures.all, sinceMs, context);
  const byNamespace = [...failures.byNamespace]
    .map(([name, trace]) => ({ name, state: stateSince(trace, sinceMs, context) }))
    .filter(({ state }) => state.state !== "quiet")
    .toSorted((a, b) => b.state.occasions - a.state.occasions);
  const own = byNamespace.find(({ name }) => name === namespace);
  const isOneSided = byNamespace.length === 1 && own === undefined ? { isOneSided: true } : {};
  const [first, second] = byNamespace;
  const isConfirmed = (second?.state.occasions ?? 0) >= CONFIRMING_OCCASIONS || own?.state.state === "persistent";
  if (all.state !== "persistent" || isConfirmed || first === undefined) return { ...all, ...isOneSided };
  return { ...all, ...isOneSided, state: "suspected", onlyNamespace: first.name };
}

/** Failures at about the same time do not count: the API server stored them, and the operator saw the agent Ready. */
function stateSince(trace: UnauthorizedTrace, sinceMs: number, { rule, nowMs }: Context): Persistence {
  const occasions = trace.occasions.filter(({ startMs }) => startMs >= sinceMs + CLOCK_SKEW_MS);
  return persistenceOf({ ...trace, occasions }, rule, nowMs);
}
