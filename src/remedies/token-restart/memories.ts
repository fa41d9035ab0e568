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
  /** Number of workloads in the last pass. */
  workloads: number;
  readonly patterns: string;
  readonly finder: Finder;
}

function newMemory(key: Key): Pick<Memory, "logs" | "sandboxes" | "rollouts" | "workloads"> {
  return { logs: new LogWatch(key), sandboxes: new SandboxTraces(), rollouts: new RolloutWaits(), workloads: 0 };
}

/** The state of all ControllerResiliences. */
export class Memories {
  readonly #byKey = new Map<Key, Memory>();

  /** Returns the state of an object; calls `onChange` when it is new or its patterns have changed. */
  of(key: Key, extraPatterns: readonly string[], onChange: () => void): Memory {
    const patterns = JSON.stringify(extraPatterns);
    const known = this.#byKey.get(key);
    if (known?.patterns === patterns) return known;
    const memory: Memory = { ...(known ?? newMemory(key)), patterns, finder: createFinder(extraPatterns) };
    this.#byKey.set(key, memory);
    onChange();
    return memory;
  }

  /** Number of workloads of all objects. */
  workloads(): number {
    let total = 0;
    for (const { workloads } of this.#byKey.values()) total += workloads;
    return total;
  }

  /** Reads no logs of an object until its next pass. */
  pause(key: Key): void {
    this.#byKey.get(key)?.logs.pause();
  }

  /** Drops the state of an object. */
  forget(key: Key): void {
    this.#byKey.get(key)?.logs.stop();
    this.#byKey.delete(key);
  }
}
