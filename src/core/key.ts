import type { ControllerResilience } from "../api/controller-resilience";
import type { Key } from "./ports";

/** Returns the key of an object: `namespace/name`. */
export function keyOf({ metadata }: Pick<ControllerResilience, "metadata">): Key {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Splits a key into namespace and name, the inverse of {@link keyOf}. */
export function splitKey(key: Key): { readonly namespace: string; readonly name: string } {
  const slash = key.indexOf("/");
  return { namespace: key.slice(0, Math.max(0, slash)), name: key.slice(slash + 1) };
}
