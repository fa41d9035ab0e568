import type { Remedy } from "../core/remedy";
import { createBindingRenewal } from "./binding-renewal";
import { createFlowIsolation } from "./flow-isolation";
import { createTokenLifetime } from "./token-lifetime";
import { createTokenRestart } from "./token-restart";
import { createLogJudge } from "./token-restart/log-judge";

/** Every remedy, with a memory of its own: one line each. */
export function createRemedies(): Remedy[] {
  return [
    createTokenRestart() as Remedy,
    createBindingRenewal() as Remedy,
    createTokenLifetime(createLogJudge()) as Remedy,
    createFlowIsolation() as Remedy,
  ];
}
