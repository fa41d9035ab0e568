import type { Key } from "../core/ports";
import type { Readers } from "../core/readers";
import type { PodView } from "../core/views";
import { findByClass as find } from "./detector";
import { hasLog, LogWatch, type Watched } from "./reading/log-watch";
import type { PersistenceRule } from "./persistence";

/**
 * What the logs of one pod say about 401s.
 * - `unread`: at least one log was not read yet.
 * - `unreadable`: at least one log can't be read.
 * - `quiet`, `suspected`, `persistent`: the worst state among its containers.
 */
export type PodLogState = "unread" | "unreadable" | "quiet" | "suspected" | "persistent";

/** The result of one review. */
export interface ReviewedLogs {
  /** By uid of the pod. */
  readonly states: ReadonlyMap<string, PodLogState>;
  /** Time until the next read is due; Infinity without pods. */
  readonly nextReadInMs: number;
}

/** Reviews the logs of pods for remedies whose own evidence is something else. */
export interface PodLogReview {
  /** Reads the logs that are due, and forgets the logs of pods that earlier calls with this key named and this one does not. */
  review(key: Key, pods: readonly PodView[], readers: Readers): Promise<ReviewedLogs>;
  /** Forgets all logs of a deleted object. */
  forget(key: Key): void;
}

/** The defaults of tokenRestart. */
const RULE: PersistenceRule = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };

/** Creates a review that uses the classifier and the persistence rule of tokenRestart. */
export function createPodLogReview(): PodLogReview {
  const watches = new Map<Key, LogWatch>();

  return {
    async review(key, pods, readers): Promise<ReviewedLogs> {
      const watch = watches.get(key) ?? new LogWatch();
      watches.set(key, watch);
      const watched = pods.flatMap(watchedContainers);
      await watch.pass(readers, watched, { windowMs: RULE.windowMs, find, rule: RULE });
      const nowMs = readers.clock.now().getTime();
      const states = new Map(pods.map(pod => [pod.uid, stateOf(watch, pod, nowMs)]));
      return { states, nextReadInMs: watch.nextReadInMs(readers, watched, RULE) };
    },

    forget: key => void watches.delete(key),
  };
}

function watchedContainers(pod: PodView): Watched[] {
  // The API server answers 401 to a pod that is being deleted; that is expected.
  if (pod.deletedAtMs !== undefined) return [];
  const containers = pod.containers.filter(container => container.role !== "init" && hasLog(container));
  return containers.map(container => ({ pod, container, suspicious: false }));
}

function stateOf(watch: LogWatch, pod: PodView, nowMs: number): PodLogState {
  const findings = watchedContainers(pod).map(watched => watch.finding(watched, RULE, nowMs));
  const states = findings.map(({ persistence }) => persistence.state);
  if (states.includes("persistent")) return "persistent";
  if (states.includes("suspected")) return "suspected";
  if (findings.some(({ error }) => error !== undefined)) return "unreadable";
  const isRead = findings.length > 0 && findings.every(({ readMs }) => readMs !== undefined);
  return isRead ? "quiet" : "unread";
}
