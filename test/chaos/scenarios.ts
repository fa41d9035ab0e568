import type { Scenario } from "./scenario";
import { bindingRenewal } from "./scenarios/binding-renewal";
import { flowCleanup, flowIsolation } from "./scenarios/flow-isolation";
import { staleToken } from "./scenarios/stale-token";
import { tokenAdmission, tokenTemplate } from "./scenarios/token-lifetime";

/** Every scenario, the quick ones first. */
export const scenarios: readonly Scenario[] = [
  bindingRenewal,
  tokenTemplate,
  flowIsolation,
  flowCleanup,
  tokenAdmission,
  staleToken,
];
