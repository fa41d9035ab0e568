import type { Obj } from "../server/objects";
import { acts, blockOf } from "./objects";
import type { Report, Sight } from "./sight";

// Promise 5: no binding lives longer than its consent.

const EXPIRES = "controller-resilience.io/expires-at";
const RENEW = "controller-resilience.io/renew";

/** A write that was sent before a person's change may not overwrite it: preconditions refuse it. So no time is given. */
export function checkBindings(sight: Sight, report: Report): void {
  const renewed = (before: Obj, after: Obj): void => {
    const name = `${before.metadata.namespace ?? ""}/${before.metadata.name}`;
    const [old, next] = [expiryOf(before), expiryOf(after)];
    if (old === next) return;
    const nowMs = sight.clock.now().getTime();
    if (old !== undefined && old <= nowMs) report(5, `extended ${name}, which had expired`);
    if (next !== undefined && old !== undefined && next < old) report(5, `shortened ${name}`);
    if (!isWanted(sight, before)) report(5, `renewed ${name} without consent`);
  };
  sight.onRequest(({ resource, verb, code, before, after }) => {
    const isRenewal = resource.endsWith("rolebindings") && verb === "patch" && code === 200;
    if (isRenewal && before !== undefined && after !== undefined) renewed(before, after);
  });
  sight.onRequest(({ resource, verb, code, name = "" }) => {
    if (resource.endsWith("rolebindings") && verb === "create" && code < 300) report(5, `created the binding ${name}`);
  });
}

/** When a binding expires, in milliseconds since 1970. */
export function expiryOf({ metadata }: Obj): number | undefined {
  const text = metadata.annotations?.[EXPIRES];
  return text === undefined ? undefined : Date.parse(text);
}

function isWanted({ store }: Sight, { kind, metadata }: Obj): boolean {
  if (metadata.annotations?.[RENEW] === "true") return true;
  return store.list("controllerresiliences", metadata.namespace).some(object => {
    const named = (blockOf(object, "bindingRenewal")["bindings"] ?? []) as { kind: string; name: string }[];
    return acts(object, "bindingRenewal") && named.some(one => one.kind === kind && one.name === metadata.name);
  });
}
