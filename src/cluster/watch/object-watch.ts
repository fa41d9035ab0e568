import { isDeepStrictEqual } from "node:util";
import type { ControllerResilience } from "../../api/controller-resilience";
import { KIND } from "../../api/names";
import { keyOf, splitKey } from "../../core/key";
import { KINDS } from "../../core/kinds";
import type { Key } from "../../core/ports";
import { type ObjectView, objectView } from "../read/object-view";
import type { Delta } from "./view-cache";
import { Watch, type WatchContext } from "./watch";
import { WatchAges } from "./watch-ages";

const RESOURCE = KINDS[KIND];

/** Watches the ControllerResiliences of all namespaces, which the operator may always do: the framework does as well. */
export class ObjectWatch {
  readonly #context: WatchContext;
  readonly #watch: Watch<ObjectView>;
  #ages: WatchAges | null = null;

  /** @param onChange called with the key of an object that was created, deleted, or changed by others than the operator */
  constructor(context: WatchContext, onChange: (key: Key) => void) {
    this.#context = context;
    const onDelta = (delta: Delta<ObjectView>): void => {
      const object = (delta.after ?? delta.before)?.object;
      if (object !== undefined && callsForPass(delta)) onChange(keyOf(object));
    };
    this.#watch = new Watch(context, { resource: RESOURCE, project: objectView, onDelta });
  }

  start(): void {
    this.#watch.start();
    this.#ages ??= new WatchAges(this.#context, () => [{ plural: RESOURCE.plural, watch: this.#watch }], []);
  }

  async stop(): Promise<void> {
    this.#ages?.stop();
    await this.#watch.stop();
  }

  /** Resolves when the first list has succeeded or failed, or the watch is stopped. */
  attempted(): Promise<void> {
    return this.#watch.attempted();
  }

  /** Returns the objects of a namespace. @throws ForbiddenError, or TransientError while the cache is not filled or stale */
  objectsIn(namespace: string): readonly ControllerResilience[] {
    return this.#watch.viewsOf(namespace).map(({ object }) => object);
  }

  /** Returns what the cache has; undefined while it is not filled or stale. */
  current():
    | { version: string | undefined; get(key: Key): ControllerResilience | undefined; keys(): Key[] }
    | undefined {
    const watch = this.#watch;
    if (watch.trouble() !== null) return undefined;
    return {
      version: watch.version(),
      get: key => {
        const { namespace, name } = splitKey(key);
        return watch.lastKnown(namespace, name)?.object;
      },
      keys: () => watch.views().map(({ object }) => keyOf(object)),
    };
  }
}

/** A write of status changes none of these fields, so the operator's reports wake nothing. */
function callsForPass({ before, after }: Delta<ObjectView>): boolean {
  return before === null || after === null || !isDeepStrictEqual(wantedOf(before), wantedOf(after));
}

function wantedOf({ object }: ObjectView): object {
  const { generation, deletionTimestamp, labels, annotations, finalizers } = object.metadata;
  return { generation, deletionTimestamp, labels, annotations, finalizers };
}
