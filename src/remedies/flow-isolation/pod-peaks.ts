import { parseDuration } from "../../core/duration";
import type { Spec } from "./facts";
import { MAX_OLDEST_MS } from "./rate";

interface Sample {
  readonly ms: number;
  readonly pods: number;
}

/**
 * Running pods of each ServiceAccount, for as long back as its measured requests count. The threshold follows the largest number: requests
 * that more pods made are no flood of the fewer pods that are left, such as after a scale-down or during a rollout. A new leader has no
 * samples, and no measured requests either.
 */
export class PodPeaks {
  readonly #samples = new Map<string, readonly Sample[]>();

  /** Adds a count, and returns the largest one of that time. */
  note(account: string, pods: number, nowMs: number, keepMs: number): number {
    const recent = (this.#samples.get(account) ?? []).filter(({ ms }) => ms <= nowMs && nowMs - ms <= keepMs);
    const samples = [...recent.filter(sample => sample.pods > pods), { ms: nowMs, pods }];
    this.#samples.set(account, samples);
    return Math.max(...samples.map(sample => sample.pods));
  }

  /**
   * Forgets ServiceAccounts that are no longer isolated, once their requests count no more: a pass on a stale cache, or while a target is
   * being replaced, must not lower the threshold.
   */
  forgetOthers(accounts: ReadonlySet<string>, nowMs: number, keepMs: number): void {
    for (const [account, samples] of this.#samples) {
      const isRecent = samples.some(({ ms }) => nowMs - ms <= keepMs);
      if (!isRecent && !accounts.has(account)) this.#samples.delete(account);
    }
  }

  /** Number of ServiceAccounts with samples. */
  get size(): number {
    return this.#samples.size;
  }
}

/** How long back requests count, in milliseconds: `for`, with the spans at both ends. */
export function countedMs({ requestRate }: Spec): number {
  return parseDuration(requestRate.for) + 2 * MAX_OLDEST_MS;
}
