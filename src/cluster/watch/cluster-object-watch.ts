import { isDeepStrictEqual } from "node:util";
import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import { CLUSTER_KIND } from "../../api/names";
import { GoneError } from "../../core/errors";
import { KINDS } from "../../core/kinds";
import { type ClusterObjectOfOurs, clusterObjectOfOursView } from "../read/object-view";
import type { Delta } from "./view-cache";
import { Watch, type WatchContext } from "./watch";
import { WatchAges } from "./watch-ages";

const RESOURCE = KINDS[CLUSTER_KIND];

/** Watches the ClusterControllerResiliences. */
export class ClusterObjectWatch {
  readonly #context: WatchContext;
  readonly #watch: Watch<ClusterObjectOfOurs>;
  #ages: WatchAges | null = null;

  /** @param onChange called with the name of an object that was created, deleted, or changed by others than the operator */
  constructor(context: WatchContext, onChange: (name: string) => void) {
    this.#context = context;
    const onDelta = (delta: Delta<ClusterObjectOfOurs>): void => {
      const name = (delta.after ?? delta.before)?.name;
      if (name !== undefined && isWanted(delta)) onChange(name);
    };
    this.#watch = new Watch(context, { resource: RESOURCE, project: clusterObjectOfOursView, onDelta });
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

  /**
   * Returns all objects; none where their definition is not installed.
   *
   * @throws ForbiddenError without the permission to list them, TransientError while the cache is not filled or stale
   */
  objects(): readonly ClusterControllerResilience[] {
    try {
      return this.#watch.views().map(({ object }) => object);
    } catch (error) {
      if (error instanceof Error && error.cause instanceof GoneError) return [];
      throw error;
    }
  }
}

/** The operator's own writes of status change neither generation nor deletion. */
function isWanted({ before, after }: Delta<ClusterObjectOfOurs>): boolean {
  return before === null || after === null || !isDeepStrictEqual(wantedOf(before), wantedOf(after));
}

function wantedOf({ object: { metadata } }: ClusterObjectOfOurs): object {
  return { generation: metadata.generation, deletionTimestamp: metadata.deletionTimestamp };
}
