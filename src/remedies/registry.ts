import type { Remedy } from "../core/remedy";
import { createBindingRenewal } from "./binding-renewal/remedy";
import { createFlowIsolation } from "./flow-isolation/remedy";
import { createTokenLifetime } from "./token-lifetime/remedy";
import { createTokenRestart } from "./token-restart/remedy";
import { createLogJudge } from "../logs/log-judge";

/** Every remedy, with a memory of its own: one line each. */
export function createRemedies(): Remedy[] {
  return [
    createTokenRestart() as Remedy,
    createBindingRenewal() as Remedy,
    createTokenLifetime(createLogJudge()) as Remedy,
    createFlowIsolation() as Remedy,
  ];
}
