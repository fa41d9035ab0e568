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

  /** Returns the state of an object. */
  of(key: Key, extraPhrases: readonly string[]): Memory {
    const phrases = JSON.stringify(extraPhrases);
    const known = this.#byKey.get(key);
    if (known?.phrases === phrases) return known;
    const memory: Memory = { ...(known ?? newMemory(key)), phrases, finder: createFinder(extraPhrases) };
    this.#byKey.set(key, memory);
    return memory;
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
