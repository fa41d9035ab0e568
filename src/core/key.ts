import type { ControllerResilience } from "../api/controller-resilience";
import type { Key } from "./ports";

/** The key of an object: its namespace and name. */
export function keyOf({ metadata }: Pick<ControllerResilience, "metadata">): Key {
  return `${metadata.namespace}/${metadata.name}`;
}
