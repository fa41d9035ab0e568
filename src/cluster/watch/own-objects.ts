import { isDeepStrictEqual } from "node:util";
import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import type { ControllerResilience } from "../../api/controller-resilience";
import { ConditionType } from "../../api/conditions";
import { CLUSTER_KIND, KIND } from "../../api/names";
import { GoneError } from "../../core/errors";
import { keyOf, splitKey } from "../../core/text";
import { KINDS } from "../../core/kinds";
import type { Key } from "../../core/ports";
import { type ClusterObjectOfOurs, clusterObjectOfOursView, type ObjectView, objectView } from "../read/views";
import type { Delta } from "./view-cache";
import { Watch, type WatchContext, type WatchSubject } from "./watch";

/** One kind of this project's own objects, in all namespaces: the operator may always watch them, as the framework does. */
class OwnWatch<V extends OwnView> {
  readonly watch: Watch<V>;

  /**
   * @param onChange called with an object that was created, deleted, or changed by others than the operator
   * @param onReport called with one whose Ready or Stalled the operator has changed
   */
  constructor(
    context: WatchContext,
    subject: Pick<WatchSubject<V>, "resource" | "project">,
    onChange: (view: V) => void,
    onReport?: (view: V) => void,
  ) {
    const onDelta = ({ before, after }: Delta<V>): void => {
      const view = after ?? before;
      // A write of status changes none of these fields, so the operator's reports wake no pass of the object itself.
      const isSame = before !== null && after !== null && isDeepStrictEqual(wantedOf(before), wantedOf(after));
      if (view !== null && !isSame) onChange(view);
      else if (before !== null && after !== null && !isDeepStrictEqual(reportedOf(before), reportedOf(after)))
        onReport?.(after);
    };
    this.watch = new Watch(context, { ...subject, onDelta });
    const { plural: resource } = subject.resource;
    context.metrics.watchAges(() => [{ resource, ageMs: this.watch.ageMs() }]);
  }

  start(): void {
    this.watch.start();
  }

  stop(): Promise<void> {
    return this.watch.stop();
  }

  /** Resolves when the first list has succeeded or failed, or the watch is stopped. */
  attempted(): Promise<void> {
    return this.watch.attempted();
  }
}

type OwnView = ObjectView | ClusterObjectOfOurs;

function wantedOf({ object: { metadata } }: OwnView): object {
  const { generation, deletionTimestamp, labels, annotations, finalizers } = metadata;
  return { generation, deletionTimestamp, labels, annotations, finalizers };
}

function reportedOf({ object: { status } }: OwnView): string[] {
  const told = (status?.conditions ?? []).filter(
    ({ type }) => type === ConditionType.Ready || type === ConditionType.Stalled,
  );
  return told.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`);
}

/** Watches the ControllerResiliences of all namespaces. */
export class ObjectWatch extends OwnWatch<ObjectView> {
  /** Both are called with the key of the object. */
  constructor(context: WatchContext, onChange: (key: Key) => void, onReport?: (key: Key) => void) {
    super(
      context,
      { resource: KINDS[KIND], project: objectView },
      ({ object }) => onChange(keyOf(object)),
      ({ object }) => onReport?.(keyOf(object)),
    );
  }

  /** Returns the objects of a namespace. @throws ForbiddenError, or TransientError while the cache is not filled or stale */
  objectsIn(namespace: string): readonly ControllerResilience[] {
    return this.watch.viewsOf(namespace).map(({ object }) => object);
  }

  /** Returns what the cache has; undefined while it is not filled or stale. */
  current():
    | { version: string | undefined; get(key: Key): ControllerResilience | undefined; keys(): Key[] }
    | undefined {
    const { watch } = this;
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

/** Watches the ClusterControllerResiliences. */
export class ClusterObjectWatch extends OwnWatch<ClusterObjectOfOurs> {
  /** @param onChange called with the name of the object */
  constructor(context: WatchContext, onChange: (name: string) => void) {
    super(context, { resource: KINDS[CLUSTER_KIND], project: clusterObjectOfOursView }, ({ name }) => onChange(name));
  }

  /**
   * Returns all objects; none where their definition is not installed.
   *
   * @throws ForbiddenError without the permission to list them, TransientError while the cache is not filled or stale
   */
  objects(): readonly ClusterControllerResilience[] {
    try {
      return this.watch.views().map(({ object }) => object);
    } catch (error) {
      if (error instanceof Error && error.cause instanceof GoneError) return [];
      throw error;
    }
  }
}
