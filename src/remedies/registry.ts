import type { Remedy, RemedyBlock } from "../core/remedy";
import { createBindingRenewal } from "./binding-renewal/remedy";
import { createFlowIsolation } from "./flow-isolation/remedy";
import { createStallDetection } from "./stall-detection/remedy";
import { createTokenLifetime } from "./token-lifetime/remedy";
import { createTokenRestart } from "./token-restart/remedy";

/** One line per remedy, in the order of their conditions. A block of the schema without a line is a type error. */
const REGISTRY: { readonly [Block in RemedyBlock]: () => Remedy<Block> } = {
  tokenRestart: () => createTokenRestart(),
  bindingRenewal: () => createBindingRenewal(),
  tokenLifetime: () => createTokenLifetime(),
  flowIsolation: () => createFlowIsolation(),
  stallDetection: () => createStallDetection(),
};

/** Every remedy, each with its own memory. */
export function createRemedies(): Remedy[] {
  return Object.values(REGISTRY).map(create => create());
}
