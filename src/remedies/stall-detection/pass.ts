import type { StallDetectionSpec } from "../../api/controller-resilience";
import type { ObjectInMode } from "../../core/mode";
import type { Readers } from "../../core/readers";
import type { Problem } from "../kit/problems";
import type { ObjectMemory } from "./memory";

/** What the functions of one pass share. */
export interface Pass {
  readonly object: ObjectInMode;
  readonly spec: StallDetectionSpec;
  readonly readers: Readers;
  readonly memory: ObjectMemory;
  /** Failed reads are added here. */
  readonly problems: Problem[];
}
