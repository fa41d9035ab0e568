import type { ControllerResilience } from "../../../src/api/controller-resilience";
import type { Readers } from "../../../src/core/readers";
import type { SpecOf } from "../../../src/core/remedy";
import type { WorkloadView } from "../../../src/core/views";
import { describeTarget, readTarget } from "../../../src/remedies/kit/targets";

export interface Observed {
  readonly workloads: readonly WorkloadView[];
  readonly missing: readonly string[];
}

export async function observe(object: ControllerResilience, _spec: SpecOf<"toy">, readers: Readers): Promise<Observed> {
  const workloads: WorkloadView[] = [];
  const missing: string[] = [];
  for (const [index, target] of object.spec.targets.entries()) {
    const found = await readTarget(target, object.metadata.namespace, readers);
    workloads.push(...found);
    if (found.length === 0) missing.push(describeTarget(target, index));
  }
  return { workloads, missing };
}
