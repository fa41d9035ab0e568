import type { RemedySample } from "../../../core/testing/remedy-sample";
import { planTokenLifetime, type TokenLifetimePlan } from "../plan";
import { reportTokenLifetime } from "../report";
import type { Observed, Spec } from "../subject";
import { applied, observations, specs } from "./arbitrary";

export const sample: RemedySample<Observed, Spec, TokenLifetimePlan> = {
  observed: observations,
  specs,
  plan: planTokenLifetime,
  report: reportTokenLifetime,
  applied,
};
