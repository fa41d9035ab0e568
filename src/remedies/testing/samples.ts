import type { RemedyBlock } from "../../core/remedy";
import type { RemedySample } from "../../core/testing/remedy-sample";
import { sample as bindingRenewal } from "../binding-renewal/testing/arbitrary";
import { sample as flowIsolation } from "../flow-isolation/testing/sample";
import { sample as stallDetection } from "../stall-detection/testing/sample";
import { sample as tokenLifetime } from "../token-lifetime/testing/sample";
import { sample as tokenRestart } from "../token-restart/testing/sample";

/** One line per remedy. A block of the schema without a sample is a type error. */
export const SAMPLES: Readonly<Record<RemedyBlock, RemedySample>> = {
  tokenRestart,
  bindingRenewal,
  tokenLifetime,
  flowIsolation,
  stallDetection,
};
