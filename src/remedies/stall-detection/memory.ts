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

/** The state of an object that was not observed before. */
export function newMemory(key: Key): ObjectMemory {
  return { logs: new LogWatch(key), bindings: new LostBindings(), able: new AbleTimes() };
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
