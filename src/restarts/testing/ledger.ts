import type { Clock } from "../../core/time";
import type { Key } from "../../core/ports";
import { Restarts, type BreakerState, type RestartsPorts } from "../ledger";

export class MemoryBreaker implements BreakerState {
  state: string | null | undefined = null;
  resetMs = -Infinity;
  trip(why: string): void {
    this.state = why;
  }
  /** What a person does, at this wall-clock time. */
  reset(nowMs: number): void {
    this.state = null;
    this.resetMs = nowMs;
  }
}

/** What a test can replace of the restarts. */
interface Changes extends Partial<RestartsPorts> {
  readonly missing?: Key[];
}

/** The restarts of a leader that starts now and has loaded every object, or has these objects still to load. */
export function makeRestarts(clock: Clock, intervalMs?: number, { missing = [], ...ports }: Changes = {}): Restarts {
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", namespace: "system", name: "it" };
  const defaults = { clock, requestPass: () => undefined, breaker: new MemoryBreaker(), lease };
  const restarts = new Restarts({ ...defaults, ...ports }, intervalMs);
  restarts.expect(missing);
  return restarts;
}
