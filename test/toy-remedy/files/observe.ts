import type { ControllerResilience } from "../../../src/api/controller-resilience";
import type { Readers } from "../../../src/core/readers";
import type { SpecOf } from "../../../src/core/remedy";
import type { WorkloadView } from "../../../src/core/views";
import { findTargets } from "../../../src/remedies/kit/targets";

export interface Observed {
  readonly workloads: readonly WorkloadView[];
  readonly missing: readonly string[];
}

export async function observe(object: ControllerResilience, _spec: SpecOf<"toy">, readers: Readers): Promise<Observed> {
  const { namespace } = object.metadata;
  const { views, missing } = await findTargets(object.spec.targets, { namespace, readers });
  return { workloads: views, missing };
}
