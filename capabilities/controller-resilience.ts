import { Capability } from "pepr";
import { GenericKind, RegisterKind } from "kubernetes-fluent-client";
import type { ControllerResilienceBody } from "../src/api/generated/controller-resilience";
import { GROUP, KIND, PLURAL, VERSION } from "../src/api/names";
import { hasNews } from "../src/core/status";

/** The custom resource as a class, as Pepr's `When` expects. */
export class ControllerResilienceKind extends GenericKind {
  declare spec?: ControllerResilienceBody["spec"];
  declare status?: ControllerResilienceBody["status"];
}

/**
 * Page size for Pepr's lists. Pepr's client parses a list in one piece, and Pepr serializes each object for a disabled debug log
 * (lib/processors/watch-processor.ts): 2,000 objects blocked the event loop for 75 ms and took 40 MiB.
 */
const PAGE_SIZE = 250;

/** The client builds its URLs from the plural and has no setting for the page size. Watches ignore the limit. */
const PAGED = `${PLURAL}?limit=${PAGE_SIZE}`;

RegisterKind(ControllerResilienceKind, { group: GROUP, version: VERSION, kind: KIND, plural: PAGED });

/**
 * Enqueues the key of each changed ControllerResilience.
 *
 * The callback never throws: Pepr awaits callbacks sequentially and loses the event of one that throws. The timed full pass finds
 * what Pepr misses, such as deletions or changes while its watch is down.
 *
 * @param enqueue takes `namespace/name` of an object whose present spec no status answers, so that no status wakes its own object
 */
export function controllerResilienceCapability(enqueue: (key: string) => void): Capability {
  const capability = new Capability({
    name: "controller-resilience",
    description: "Enqueues the key of each changed ControllerResilience.",
  });
  capability
    .When(ControllerResilienceKind)
    .IsCreatedOrUpdated()
    .Watch(object => {
      const { namespace, name } = object.metadata ?? {};
      const isNews = hasNews(object);
      lighten(object);
      if (namespace && name && isNews) enqueue(`${namespace}/${name}`);
    });
  return capability;
}

/** The fields that the client compares when it relists. */
const NEEDED: readonly string[] = ["namespace", "name", "uid", "resourceVersion"];

/** Removes all other fields, since the client keeps the object that it passes to the callback. */
function lighten(object: ControllerResilienceKind): void {
  for (const key of Object.keys(object)) if (key !== "metadata") Reflect.deleteProperty(object, key);
  const { metadata = {} } = object;
  for (const key of Object.keys(metadata)) if (!NEEDED.includes(key)) Reflect.deleteProperty(metadata, key);
}
