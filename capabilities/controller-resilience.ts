import { Capability } from "pepr";
import { GenericKind, RegisterKind } from "kubernetes-fluent-client";
import type { ControllerResilienceBody } from "../src/api/generated/controller-resilience";
import { GROUP, KIND, PLURAL, VERSION } from "../src/api/names";

/** The custom resource as Pepr's `When` wants it: a class that is registered with its group, version and kind. */
export class ControllerResilienceKind extends GenericKind {
  declare spec?: ControllerResilienceBody["spec"];
  declare status?: ControllerResilienceBody["status"];
}

/**
 * Objects that Pepr's client is given at once when it lists. It parses a list in one piece, and Pepr writes each down for a debug log that is off (`JSON.stringify` in
 * lib/processors/watch-processor.ts): with 2,000 objects that held the event loop up for 75 ms, and took 40 MiB (`npm run chaos -- bounds`).
 */
const PAGE_SIZE = 250;

/** The client builds its URLs of the plural, adds what it needs, and follows `continue`; it has no setting for the size of a page. For a watch the limit means nothing. */
const PAGED = `${PLURAL}?limit=${PAGE_SIZE}`;

RegisterKind(ControllerResilienceKind, { group: GROUP, version: VERSION, kind: KIND, plural: PAGED });

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
      lighten(object);
      if (namespace && name) enqueue(`${namespace}/${name}`);
    });
  return capability;
}

/** All that the client compares an object by when it lists again, and all that its next version is known by. */
const NEEDED: readonly string[] = ["namespace", "name", "uid", "resourceVersion"];

/** The client keeps the very object that it hands over for as long as it exists, and nobody looks at most of it again. */
function lighten(object: ControllerResilienceKind): void {
  for (const key of Object.keys(object)) if (key !== "metadata") Reflect.deleteProperty(object, key);
  const { metadata = {} } = object;
  for (const key of Object.keys(metadata)) if (!NEEDED.includes(key)) Reflect.deleteProperty(metadata, key);
}
