import { legacySample } from "../../../core/legacy-remedy";

import { createFlowIsolation } from "../remedy";
import { applied, flowIsolationFacts, flowIsolationSpecs } from "./arbitrary";

/** For the contract test. */
export const sample = legacySample(createFlowIsolation(), {
  observed: flowIsolationFacts,
  specs: flowIsolationSpecs,
  applied,
});
