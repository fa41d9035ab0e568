import type { ClusterControllerResilience } from "../../api/cluster-controller-resilience";
import { ALLOW_REMOVAL_ANNOTATION } from "../../api/names";
import type { Clock } from "../../core/time";
import type { NamespaceShare } from "./plan";

/** So many workloads may always lose protection within an hour. */
const ALWAYS = 10;

const HOUR_MS = 3_600_000;

type Owner = Pick<ClusterControllerResilience, "metadata">;

/** Workloads that have lost protection. */
interface Removal {
  readonly atMs: number;
  readonly count: number;
}

/** What was planned for it in a namespace. */
interface Found {
  readonly share?: Pick<NamespaceShare, "kept" | "protected"> | undefined;
}

/**
 * Within an hour, more than ten workloads lose the protection of a ClusterControllerResilience, and more than keep it, only once a person
 * allows it for the present generation: a typo in a selector must not end all protection. To delete the ClusterControllerResilience is a
 * person's word.
 */
export class Brake {
  readonly #clock: Clock;
  readonly #removed = new Map<string, Removal[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  clear(): void {
    this.#removed.clear();
  }

  /** Reports whether all that is kept in these namespaces, which have to be all, stays until a person allows to remove it. */
  isOn(owner: Owner, results: readonly Found[]): boolean {
    const lately = this.#lately(owner.metadata.uid);
    return isTooMuch(
      owner,
      results,
      lately.reduce((sum, { count }) => sum + count, 0),
    );
  }

  /** Counts workloads that have lost protection. What a person has allowed does not count against what comes later. */
  removed(owner: Owner, count: number): void {
    if (count === 0 || isAllowed(owner)) return;
    const { uid } = owner.metadata;
    this.#removed.set(uid, [...this.#lately(uid), { atMs: this.#clock.monotonicMs(), count }]);
  }

  #lately(uid: string): Removal[] {
    const sinceMs = this.#clock.monotonicMs() - HOUR_MS;
    return (this.#removed.get(uid) ?? []).filter(({ atMs }) => atMs > sinceMs);
  }
}

/** Reports whether all that is kept in these namespaces has to stay, after so many workloads have lost protection lately. */
export function isTooMuch(owner: Owner, results: readonly Found[], removedLately = 0): boolean {
  const shares = results.flatMap(({ share }) => share ?? []);
  const kept = shares.reduce((sum, share) => sum + share.kept.length, 0);
  if (kept === 0 || isAllowed(owner)) return false;
  const lost = kept + removedLately;
  return lost > ALWAYS && lost > shares.reduce((sum, share) => sum + share.protected, 0);
}

/** Labels of namespaces change no generation: the annotation allows for what they remove, too, until the spec changes. */
function isAllowed({ metadata: { annotations = {}, generation } }: Owner): boolean {
  return annotations[ALLOW_REMOVAL_ANNOTATION] === String(generation);
}
