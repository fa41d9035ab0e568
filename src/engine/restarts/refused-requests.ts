import type { RestartStatus } from "../../api/controller-resilience";
import { restartId } from "../../core/restarts/history";

/** Most requests that are remembered, the oldest dropped first: status forgets them with its next write. */
const MOST = 1_000;

/**
 * Requested restarts that the API server has refused. Status has them until its next write. If that fails, the next pass reads them again, and could
 * not tell a refused eviction of a pod that is gone from one that was carried out.
 */
export class RefusedRequests {
  readonly #ids = new Set<string>();

  /** Notes the refusal of these. */
  add(requests: readonly RestartStatus[]): void {
    for (const request of requests) this.#ids.add(restartId(request));
    for (const oldest of this.#ids) {
      if (this.#ids.size <= MOST) return;
      this.#ids.delete(oldest);
    }
  }

  /** Returns the restarts without those that were refused. */
  without(history: readonly RestartStatus[]): readonly RestartStatus[] {
    return this.#ids.size === 0 ? history : history.filter(entry => !this.#ids.has(restartId(entry)));
  }
}
