import { Cause } from "../../api/conditions";
import type { RestartStatus, TargetStatus, TokenRestartSpec } from "../../api/controller-resilience";
import type { RestartClaim } from "../../core/intent";
import { incidentOf, isOfCause, isOpen, RESTARTS_WINDOW_MS } from "../../core/restarts";

/**
 * This many restarts that rest on logs alone and did not help are enough, also if others helped for a while: another one will not help
 * either. Where the cause is proven, maxRestarts in a row are enough.
 */
const UNPROVEN_RESTARTS = 2;

/** What is known of the restarts of a workload. */
interface Restarts {
  readonly history: readonly RestartStatus[];
  /** The workload's entry in status.targets. */
  readonly previous: TargetStatus | undefined;
  readonly spec: TokenRestartSpec;
  readonly now: Date;
}

/**
 * Reports whether the restarts for the incident of the claim are used up: at this generation, or because the last ones did not help. The
 * cooldown doubles after each of them, so they are remembered for longer than the budget's window. Restarts that helped, and restarts of
 * other incidents, never use up anything (docs/adr/0005-count-restarts-by-incident.md).
 */
export function isUsedUp(claim: RestartClaim, restarts: Restarts, generation: number): boolean {
  const { history, previous, spec, now } = restarts;
  const known = previous?.exhaustedIncident;
  if (wasUsedUp(previous, generation) && (known === undefined || known === incidentOf(claim))) return true;
  const memoryMs = RESTARTS_WINDOW_MS + claim.limits.cooldownMs * 2 ** spec.maxRestarts;
  const recent = history
    .filter(entry => incidentOf(entry) === incidentOf(claim) && !isOpen(entry))
    .filter(entry => now.getTime() - Date.parse(entry.time) < memoryMs);
  if (!isProven(claim)) return failures(recent) >= Math.min(UNPROVEN_RESTARTS, spec.maxRestarts);
  return failures(recent.slice(-spec.maxRestarts)) === spec.maxRestarts;
}

/** Reports whether status says that the restarts of an incident were used up at this generation. */
export function wasUsedUp(previous: TargetStatus | undefined, generation: number): boolean {
  return previous?.exhaustedGeneration !== undefined && previous.exhaustedGeneration >= generation;
}

function failures(restarts: readonly RestartStatus[]): number {
  return restarts.filter(({ outcome }) => outcome === "Ineffective").length;
}

/** Restarts for CNI credentials count as proven: the node's Events name the agent. */
function isProven(claim: RestartClaim): boolean {
  return !isOfCause(claim, { cause: Cause.Unknown });
}
