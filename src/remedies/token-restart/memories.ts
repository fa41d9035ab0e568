import type { Key } from "../../core/ports";
import { createFinder, type Finder } from "../../logs/detector";
import { LogWatch } from "../../logs/reading/log-watch";
import { SandboxTraces } from "../../logs/sandboxes/traces";
import { RolloutWaits } from "./rollout-waits";

/** State of one ControllerResilience. After its loss, logs are read from further back, and the wait for a rollout in progress begins again. */
export interface Memory {
  readonly logs: LogWatch;
  readonly sandboxes: SandboxTraces;
  readonly rollouts: RolloutWaits;
  readonly phrases: string;
  readonly finder: Finder;
}

function newMemory(key: Key): Pick<Memory, "logs" | "sandboxes" | "rollouts"> {
  return { logs: new LogWatch(key), sandboxes: new SandboxTraces(), rollouts: new RolloutWaits() };
}

/** The state of all ControllerResiliences. */
export class Memories {
  readonly #byKey = new Map<Key, Memory>();
  /** Number of workloads in the last pass of each object. */
  readonly #workloads = new Map<Key, number>();
  #total = 0;

  /** Returns the state of an object; calls `onChange` when it is new or its phrases have changed. */
  of(key: Key, extraPhrases: readonly string[], onChange: () => void): Memory {
    const phrases = JSON.stringify(extraPhrases);
    const known = this.#byKey.get(key);
    if (known?.phrases === phrases) return known;
    const memory: Memory = { ...(known ?? newMemory(key)), phrases, finder: createFinder(extraPhrases) };
    this.#byKey.set(key, memory);
    onChange();
    return memory;
  }

  /** Number of workloads of all objects. */
  get workloads(): number {
    return this.#total;
  }

  /**
   * Takes the number of an object's workloads. Every pass asks for the total, so it is not added up from all objects. A pass that has
   * outlived its object counts nothing.
   */
  countWorkloads(key: Key, count: number): void {
    if (!this.#byKey.has(key)) return;
    this.#total += count - (this.#workloads.get(key) ?? 0);
    this.#workloads.set(key, count);
  }

  /** Reads no logs of an object until its next pass. */
  pause(key: Key): void {
    this.#byKey.get(key)?.logs.pause();
  }

  /** Drops the state of an object. */
  forget(key: Key): void {
    this.#byKey.get(key)?.logs.stop();
    this.#byKey.delete(key);
    this.#total -= this.#workloads.get(key) ?? 0;
    this.#workloads.delete(key);
  }
}
