import { runToEnd } from "../../../core/slices";
import type { RemedySample } from "../../../core/testing/remedy-sample";
import type { BindingRenewalSpec } from "../../../api/controller-resilience";
import type { ObservedBindings } from "../observed";
import { type BindingPlan, planBindings } from "../plan";
import { reportBindings } from "../report";
import { applied, bindingRenewalSpecs, observedBindings } from "./arbitrary";

/** For the contract test. */
export const sample: RemedySample<ObservedBindings, BindingRenewalSpec, BindingPlan> = {
  observed: observedBindings,
  specs: bindingRenewalSpecs,
  plan: (observed, spec, now) => runToEnd(planBindings(observed, spec, now)),
  report: reportBindings,
  applied,
};
