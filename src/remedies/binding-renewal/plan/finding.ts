import type { BindingStatus } from "../../../api/controller-resilience";
import type { Intent, ObjectRef } from "../../../core/intent";
import type { EventRequest } from "../../../core/remedy";
import type { Finding } from "../../kit/finding";
import type { Reason } from "../reasons";

/** What a plan decides for one binding. It holds unless the outcome of its write says otherwise. */
export interface BindingFinding extends Finding<Reason> {
  /** The entry of status.bindings. */
  readonly entry?: BindingStatus;
  readonly write?: PlannedWrite;
  readonly events?: readonly EventRequest[];
  /** Times at which the finding changes without a write, in milliseconds since the epoch. */
  readonly nextMs?: readonly number[];
}

/** The renewal of one binding. */
export interface PlannedWrite {
  readonly intent: Intent;
  /** The first clause of its messages: which binding, and when it expires. */
  readonly expiry: string;
  /** Since when it is due, and from when on a person must act if it is not made, in milliseconds since the epoch. */
  readonly dueMs: number;
  readonly stalledMs: number;
}

/** An Event for the change of a binding to a state. Status holds the state, so there is one Event per change, whichever replica leads. */
export function eventOnEntering(
  state: BindingStatus["state"],
  before: BindingStatus["state"] | undefined,
  event: Omit<EventRequest, "about">,
  about: ObjectRef,
): { events?: EventRequest[] } {
  return before === state ? {} : { events: [{ ...event, about }] };
}
