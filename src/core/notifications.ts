import type { ObjectRef } from "./intent";

/** What the operator tells people outside of the cluster: a problem began, or it is over. Never log text, tokens or secrets. */
export interface Notification {
  /** The same for the same incident, also from another replica, so that receivers can drop duplicates. */
  readonly id: string;
  readonly state: "Open" | "Resolved";
  /** The name under which it is configured, such as `RestartsExhausted`. */
  readonly topic: string;
  readonly subject: ObjectRef;
  /** Type of the condition; of the restart breaker, which has none, `BreakerTripped`. */
  readonly condition: string;
  readonly reason: string;
  readonly message: string;
  /** When the incident began, and when this was decided. RFC 3339. */
  readonly since: string;
  readonly time: string;
}

/** Sends notifications. Never throws and never blocks the loop: a lost one is logged and counted. */
export interface NotificationSink {
  /** Queues a notification. */
  send(notification: Notification): void;
}

/** Counts notifications by their result. */
export interface NotificationMetrics {
  /** Failed: the receiver refused it, or did not answer for an hour. Dropped: the queue was full, or the operator stopped. */
  notified(result: "sent" | "failed" | "dropped"): void;
}
