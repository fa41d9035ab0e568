import type { Scenario } from "./scenario";
import { bindingRenewal } from "./scenarios/binding-renewal";
import { flowCleanup, flowIsolation } from "./scenarios/flow-isolation";
import { staleToken } from "./scenarios/stale-token";
import { tokenTrial } from "./scenarios/token-lifetime";

/** All scenarios, the longest first, since several run at the same time. */
export const scenarios: readonly Scenario[] = [staleToken, tokenTrial, flowIsolation, flowCleanup, bindingRenewal];
