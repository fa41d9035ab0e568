import type { StallDetectionSpec } from "../../api/controller-resilience";
import { parseDuration } from "../../core/duration";
import type { Observed, ObservedWorkload } from "./observed";

/** What the functions of one workload share. */
export interface Scope {
  readonly observed: Observed;
  readonly spec: StallDetectionSpec;
  readonly workload: ObservedWorkload;
  readonly now: Date;
  readonly forMs: number;
}

/** Makes the scope of a workload. */
export function scopeOf(observed: Observed, spec: StallDetectionSpec, workload: ObservedWorkload, now: Date): Scope {
  return { observed, spec, workload, now, forMs: parseDuration(spec.for) };
}
