import type { Block } from "./facts";

/** First wait after a refusal, unless the API server asks for more. */
const FIRST_MS = 10_000;

/** Longest wait: a PodDisruptionBudget may be full for hours. */
const LONGEST_MS = 300_000;

/** Without a refusal for this long beyond its wait, a pod is forgotten and its next refusal is a first one. */
const FORGOTTEN_AFTER_MS = 600_000;

interface Refusal extends Block {
  readonly waitMs: number;
}

/** Which evictions were refused, and when they may be tried again: the wait doubles with each refusal. */
export class EvictionBackoff {
  readonly #refusals = new Map<string, Refusal>();

  /** Notes a refusal; `retryAfterMs` is what the API server asked for. */
  refused(pod: Pick<Block, "podUID" | "pod" | "byBudget">, retryAfterMs: number, nowMs: number): Block {
    const before = this.#refusals.get(pod.podUID);
    const doubled = before === undefined ? FIRST_MS : Math.min(LONGEST_MS, before.waitMs * 2);
    const waitMs = Math.max(doubled, retryAfterMs);
    const refusal = { ...pod, untilMs: nowMs + waitMs, waitMs };
    this.#refusals.set(pod.podUID, refusal);
    return refusal;
  }

  /** Those that are to be left alone for now. */
  blocks(nowMs: number): Block[] {
    for (const [uid, { untilMs }] of this.#refusals) {
      if (nowMs - untilMs > FORGOTTEN_AFTER_MS) this.#refusals.delete(uid);
    }
    return [...this.#refusals.values()]
      .filter(({ untilMs }) => untilMs > nowMs)
      .map(({ podUID, pod, untilMs, byBudget }) => ({ podUID, pod, untilMs, byBudget }));
  }
}
