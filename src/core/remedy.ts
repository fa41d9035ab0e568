import type { Cause, ConditionType, Reason } from "../api/conditions";
import type {
  ControllerResilience,
  ControllerResilienceSpec,
  ControllerResilienceStatus,
} from "../api/controller-resilience";
import type { Execution, Intent, ObjectRef, Permission } from "./intent";
import type { Readers } from "./readers";
import type { Steps } from "./slices";

/** Key of a remedy's block in the spec. */
export type RemedyKey = "tokenRestart" | "bindingRenewal" | "tokenLifetime" | "flowIsolation";

/** The parts of status that remedies own; the engine owns the rest. */
export type RemedyStatus = Partial<
  Pick<ControllerResilienceStatus, "targets" | "restarts" | "bindings" | "daemonSets" | "flows">
>;

/** Something that users should read in `kubectl describe`, beside the Events that executed intents make by themselves. */
export interface Announcement {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly note: string;
  /** What it is about; it is told there as well. Absent: the ControllerResilience alone. */
  readonly about?: ObjectRef;
}

/** What a remedy concludes from its facts. */
export interface Decision {
  readonly status: "True" | "False" | "Unknown";
  readonly reason: Reason;
  /** A sentence for people; never log text. */
  readonly message: string;
  readonly intents: readonly Intent[];
  /** Look again after this long at the latest. */
  readonly recheckAfterMs?: number;
  /** Something is under way (kstatus Reconciling). */
  readonly progressing?: boolean;
  /** A person is needed (kstatus Stalled): for what. */
  readonly stalled?: { readonly reason: Reason; readonly message: string };
  /**
   * Something outside of the object's namespace that it made, or is about to make, has to be taken away with the object: the engine
   * keeps its finalizer on the object while this is true.
   */
  readonly needsCleanup?: boolean;
  /** This remedy's part of status. */
  readonly parts?: RemedyStatus;
  readonly announcements?: readonly Announcement[];
}

/**
 * One way of keeping controllers alive. `observe` does all the reading, `decide` all the thinking, and neither writes: what
 * is to be written goes as intents to the executor, the only writer.
 */
export interface Remedy<Key extends RemedyKey = RemedyKey, Facts = unknown> {
  /** Folder, metric label and log component. */
  readonly name: string;
  readonly key: Key;
  readonly condition: ConditionType;
  /** Everything it can ever touch; the ClusterRole is checked against the union of these. */
  readonly may: readonly Permission[];
  /** May throw: then the condition becomes Unknown / ObserveFailed, and no intent is made. */
  observe(
    object: ControllerResilience,
    spec: NonNullable<ControllerResilienceSpec[Key]>,
    from: Readers,
  ): Promise<Facts>;
  /** Pure and total: same input, same output, never throws. */
  decide(facts: Facts, spec: NonNullable<ControllerResilienceSpec[Key]>, now: Date): Decision;
  /** The same in steps, where there may be so many facts that it would hold up the event loop: the engine takes it instead, if it is there. */
  decideInSteps?(facts: Facts, spec: NonNullable<ControllerResilienceSpec[Key]>, now: Date): Steps<Decision>;
  /** Pure: how outcomes change what was decided, such as a PodDisruptionBudget's no. Default: the engine's general wording. */
  conclude?(decision: Decision, executions: readonly Execution[], now: Date): Decision;
  /**
   * What is to be deleted because the object goes, or its block has gone. Asked again until it wants nothing more.
   *
   * @throws whatever a reader throws; it is tried again then
   */
  cleanUp?(object: ControllerResilience, from: Readers): Promise<readonly Intent[]>;
  /** Causes of the restarts that it asks for. What became of them it alone says: its part of status has these restarts and no others. */
  readonly causes?: readonly Cause[];
  /** The object is gone: drop what is remembered of it. */
  forget?(key: string): void;
}
