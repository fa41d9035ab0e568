import type { ReasonRule } from "../../../src/core/remedy";

export const REASONS = {
  Unlabeled: { event: "Warning", help: "A target has no label toy; the operator adds it." },
  TargetNotFound: { event: "Warning", help: "No workload matches a target." },
  Labeled: { event: "Normal", help: "Every target has the label toy." },
} as const satisfies Record<string, ReasonRule>;

export type Reason = keyof typeof REASONS;
