import type { Intent } from "../../../src/core/intent";
import type { Plan, PlanItem, SpecOf } from "../../../src/core/remedy";
import type { WorkloadView } from "../../../src/core/views";
import type { Observed } from "./observe";

export interface ToyItem extends PlanItem {
  readonly workload: string;
}

export interface ToyPlan extends Plan<ToyItem> {
  readonly missing: readonly string[];
}

export function plan({ workloads, missing }: Observed, spec: SpecOf<"toy">): ToyPlan {
  const items = workloads.map(workload => ({
    id: workload.uid,
    workload: `${workload.kind}/${workload.name}`,
    intents: workload.labels["toy"] === spec.label ? [] : [labelIntent(workload, spec.label)],
  }));
  return { items, missing };
}

function labelIntent({ kind, namespace, name, uid, resourceVersion }: WorkloadView, label: string): Intent {
  return {
    verb: "patch",
    target: { apiVersion: "apps/v1", kind, namespace, name, uid, resourceVersion },
    body: { metadata: { labels: { toy: label } } },
    why: `${kind} ${name} has no label toy.`,
    eventReason: "Labeled",
  };
}
