import fc from "fast-check";
import type { SpecOf } from "../../../../src/core/remedy";
import type { RemedySample } from "../../../../src/core/testing/remedy-sample";
import type { Observed } from "../observe";
import { plan, type ToyPlan } from "../plan";
import { report } from "../report";

export const sample: RemedySample<Observed, SpecOf<"toy">, ToyPlan> = {
  observed: fc.constant({ workloads: [], missing: [] }),
  specs: fc.constant({ label: "yes" }),
  plan,
  report,
  applied: observed => observed,
};
