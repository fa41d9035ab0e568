import type { Remedy } from "../core/remedy";
import { createBindingRenewal } from "./binding-renewal";
import { createTokenRestart } from "./token-restart";

/** Every remedy, with a memory of its own: one line each. */
export function createRemedies(): Remedy[] {
  return [createTokenRestart() as Remedy, createBindingRenewal() as Remedy];
}
