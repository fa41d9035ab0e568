import type { Remedy } from "../core/remedy";
import { createBindingRenewal } from "./binding-renewal/remedy";
import { createFlowIsolation } from "./flow-isolation/remedy";
import { createTokenLifetime } from "./token-lifetime/remedy";
import { createTokenRestart } from "./token-restart/remedy";

/** Every remedy, with a memory of its own: one line each. */
export function createRemedies(): Remedy[] {
  return [
    createTokenRestart() as Remedy,
    createBindingRenewal() as Remedy,
    createTokenLifetime() as Remedy,
    createFlowIsolation() as Remedy,
  ];
}
