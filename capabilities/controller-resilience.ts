import { Capability } from "pepr";
import { GenericKind, RegisterKind } from "kubernetes-fluent-client";
import type { ControllerResilienceBody } from "../src/api/generated/controller-resilience";
import { GROUP, KIND, PLURAL, VERSION } from "../src/api/names";

/** The custom resource as Pepr's `When` wants it: a class that is registered with its group, version and kind. */
export class ControllerResilienceKind extends GenericKind {
  declare spec?: ControllerResilienceBody["spec"];
  declare status?: ControllerResilienceBody["status"];
}

RegisterKind(ControllerResilienceKind, { group: GROUP, version: VERSION, kind: KIND, plural: PLURAL });

/**
 * Turns each change of a ControllerResilience into its key.
 *
 * The callback only enqueues and never throws: Pepr awaits callbacks one after the other, and loses the event of one that
 * throws for good. What Pepr misses (deletions, a watch that is down) the timed full pass finds.
 *
 * @param enqueue takes `namespace/name`
 */
export function controllerResilienceCapability(enqueue: (key: string) => void): Capability {
  const capability = new Capability({
    name: "controller-resilience",
    description: "Puts the key of each changed ControllerResilience into the operator's queue.",
  });
  capability
    .When(ControllerResilienceKind)
    .IsCreatedOrUpdated()
    .Watch(object => {
      const { namespace, name } = object.metadata ?? {};
      if (namespace && name) enqueue(`${namespace}/${name}`);
    });
  return capability;
}
