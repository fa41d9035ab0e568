import type { Clock } from "../../core/clock";
import type { Instance } from "../http/connection";

/** If no instance is reachable at its own address, the next attempt follows after this time, in milliseconds. */
const RETRY_MS = 60_000;

/** Asks each API server at its own address, which a process outside of the cluster usually cannot reach. */
export class EachInstance {
  readonly #clock: Clock;
  #fromMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the answers of those that could be asked. Empty if there is only one, or if none was reachable lately: ask the kubeconfig's address. */
  async ask<T>(instances: readonly Instance[], ask: (instance: Instance) => Promise<T>): Promise<T[]> {
    if (instances.length <= 1 || this.#clock.monotonicMs() < this.#fromMs) return [];
    const asked = await Promise.allSettled(instances.map(instance => ask(instance)));
    const answers = asked.flatMap(one => (one.status === "fulfilled" ? [one.value] : []));
    if (answers.length === 0) this.#fromMs = this.#clock.monotonicMs() + RETRY_MS;
    return answers;
  }
}
