import { legacySample } from "../../../core/legacy-remedy";

import { createBindingRenewal } from "../remedy";
import { applied, bindingRenewalFacts, bindingRenewalSpecs } from "./arbitrary";

/** For the contract test. */
export const sample = legacySample(createBindingRenewal(), {
  observed: bindingRenewalFacts,
  specs: bindingRenewalSpecs,
  applied,
});
