import type { Scenario } from "./scenario";
import { bindingRenewal, bindingRestored } from "./scenarios/binding-renewal";
import { flowCleanup, flowIsolation } from "./scenarios/flow-isolation";
import { rollout, staleToken } from "./scenarios/stale-token";
import { tokenAdmission, tokenRollout, tokenTemplate } from "./scenarios/token-lifetime";

/** Every scenario, the longest first: several are played at once. */
export const scenarios: readonly Scenario[] = [
  rollout,
  staleToken,
  tokenAdmission,
  bindingRestored,
  flowIsolation,
  flowCleanup,
  tokenTemplate,
  tokenRollout,
  bindingRenewal,
];
