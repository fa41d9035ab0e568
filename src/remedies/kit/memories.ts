import type { Key } from "../../core/ports";

/** What a remedy remembers of each ControllerResilience between two passes, the reading of its logs included. */
export class Memories<Memory extends { readonly logs: { pause(): void; stop(): void } }> {
  readonly #byKey = new Map<Key, Memory>();
  readonly #create: (key: Key) => Memory;

  constructor(create: (key: Key) => Memory) {
    this.#create = create;
  }

  /** Returns the state of an object. */
  of(key: Key): Memory {
    const memory = this.#byKey.get(key) ?? this.#create(key);
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
