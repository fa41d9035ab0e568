import { legacySample } from "../../../core/legacy-remedy";

import { createTokenLifetime } from "../remedy";
import { applied, tokenLifetimeFacts, tokenLifetimeSpecs } from "./arbitrary";

/** For the contract test. */
export const sample = legacySample(createTokenLifetime(), {
  observed: tokenLifetimeFacts,
  specs: tokenLifetimeSpecs,
  applied,
});
