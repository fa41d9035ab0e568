import type { StallDetectionSpec } from "../../api/controller-resilience";
import type { ObjectInMode } from "../../core/remedy";
import type { Key } from "../../core/ports";
import type { Readers } from "../../core/readers";
import { LogWatch } from "../../logs/reading/log-watch";
import type { Problem } from "../kit/problems";
import { AbleTimes } from "./lease-judge";
import { LostBindings } from "./lost-bindings";

/** What is remembered of one ControllerResilience between two passes. */
export interface ObjectMemory {
  readonly logs: LogWatch;
  readonly bindings: LostBindings;
  readonly able: AbleTimes;
}

/** The state of all ControllerResiliences. */
export class Memories {
  readonly #byKey = new Map<Key, ObjectMemory>();

  /** Returns the state of an object. */
  of(key: Key): ObjectMemory {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const added: ObjectMemory = {
      logs: new LogWatch(key),
      bindings: new LostBindings(),
      able: new AbleTimes(),
    };
    this.#byKey.set(key, added);
    return added;
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

/** What the functions of one pass share. */
export interface Pass {
  readonly object: ObjectInMode;
  readonly spec: StallDetectionSpec;
  readonly readers: Readers;
  readonly memory: ObjectMemory;
  /** Failed reads are added here. */
  readonly problems: Problem[];
}
