import { isDeepStrictEqual } from "node:util";
import { ConditionType } from "../../api/conditions";
import { GoneError } from "../../core/errors";
import type { Key } from "../../core/ports";
import { splitKey } from "../../core/text";
import { KINDS } from "../../core/kinds";
import { type OwnCache, type OwnKind, type OwnKinds, type OwnView, ownView } from "../read/views";
import type { Delta } from "./view-cache";
import { Watch, type WatchContext } from "./watch";

/** Watches one of this project's own kinds, in all namespaces: the operator may always do so, as the framework does. */
export class OwnWatch<K extends OwnKind> extends Watch<OwnView<OwnKinds[K]>> {
  /**
   * Both callbacks take the key of the object; of one that is in no namespace, its name.
   *
   * @param onChange called when an object was created, deleted, or changed by others than the operator
   * @param onReport called when the operator has changed its Ready or Stalled
   */
  constructor(context: WatchContext, kind: K, onChange: (key: Key) => void, onReport?: (key: Key) => void) {
    const onDelta = ({ before, after }: Delta<OwnView<OwnKinds[K]>>): void => {
      const view = after ?? before;
      // A write of status changes none of these fields, so the operator's reports wake no pass of the object itself.
      const isSame = before !== null && after !== null && isDeepStrictEqual(wantedOf(before), wantedOf(after));
      if (view !== null && !isSame) onChange(keyOf(view));
      else if (before !== null && after !== null && !isDeepStrictEqual(reportedOf(before), reportedOf(after)))
        onReport?.(keyOf(after));
    };
    super(context, { resource: KINDS[kind], project: raw => ownView(kind, raw), onDelta });
  }

  /**
   * Returns the objects of a namespace, or all; none where their definition is not installed.
   *
   * @throws ForbiddenError without the permission to list them, TransientError while the cache is not filled or stale
   */
  objects(namespace?: string): readonly OwnKinds[K][] {
    try {
      return this.views(namespace).map(({ object }) => object);
    } catch (error) {
      if (error instanceof Error && error.cause instanceof GoneError) return [];
      throw error;
    }
  }

  /** Returns what the cache has; undefined while it is not filled or stale. */
  current(): OwnCache<OwnKinds[K]> | undefined {
    if (this.trouble() !== null) return undefined;
    return {
      version: this.version(),
      get: key => {
        const { namespace, name } = splitKey(key);
        return this.lastKnown(namespace, name)?.object;
      },
      keys: () => this.views().map(keyOf),
    };
  }
}

type AnyView = OwnView<OwnKinds[OwnKind]>;

function keyOf({ namespace, name }: AnyView): Key {
  return namespace === "" ? name : `${namespace}/${name}`;
}

function wantedOf({ object: { metadata } }: AnyView): object {
  const { generation, deletionTimestamp, labels, annotations, finalizers } = metadata;
  return { generation, deletionTimestamp, labels, annotations, finalizers };
}

function reportedOf({ object: { status } }: AnyView): string[] {
  const told = (status?.conditions ?? []).filter(
    ({ type }) => type === ConditionType.Ready || type === ConditionType.Stalled,
  );
  return told.map(({ type, status: value, reason }) => `${type} ${value} ${reason}`);
}
