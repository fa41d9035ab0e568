import type { Scenario } from "./scenario";
import { bindingRenewal, bindingRestored } from "./scenarios/binding-renewal";
import { flowCleanup, flowIsolation } from "./scenarios/flow-isolation";
import { rollout, staleToken } from "./scenarios/stale-token";
import { tokenAdmission, tokenRollout, tokenTemplate } from "./scenarios/token-lifetime";

/** Every scenario, the quick ones first. */
export const scenarios: readonly Scenario[] = [
  bindingRenewal,
  bindingRestored,
  tokenTemplate,
  tokenRollout,
  flowIsolation,
  flowCleanup,
  tokenAdmission,
  staleToken,
  rollout,
];
