import type { RemedySample } from "../../../core/testing/remedy-sample";
import type { FlowIsolationFacts, Spec } from "../facts";
import { planFlows, type FlowPlan } from "../plan";
import { reportFlows } from "../report";
import { applied, flowIsolationFacts, flowIsolationSpecs } from "./arbitrary";

export const sample: RemedySample<FlowIsolationFacts, Spec, FlowPlan> = {
  observed: flowIsolationFacts,
  specs: flowIsolationSpecs,
  plan: planFlows,
  report: reportFlows,
  applied,
};
