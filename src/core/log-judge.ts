import type { Key } from "./ports";
import type { Readers } from "./readers";
import type { PodView } from "./views";

/** What the logs of one pod say of 401s. unread: they were not read to their end yet. unreadable: they can't be. */
export type LogVerdict = "unread" | "unreadable" | "quiet" | "suspected" | "persistent";

/** What was found in the logs of some pods. */
export interface JudgedLogs {
  /** By uid of the pod. */
  readonly verdicts: ReadonlyMap<string, LogVerdict>;
  /** When the next read is due; Infinity where there is none. */
  readonly nextReadInMs: number;
}

/** Judges logs for remedies that are not about logs themselves. The registry hands it in, so that no remedy imports another. */
export interface LogJudge {
  /** Reads what is due of these pods' logs, and forgets the logs of others that were asked for under that key. */
  judge(key: Key, pods: readonly PodView[], from: Readers): Promise<JudgedLogs>;
  /** The object is gone. */
  forget(key: Key): void;
}
