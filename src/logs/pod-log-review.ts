import type { Key } from "../core/ports";
import type { Readers } from "../core/readers";
import type { PodView } from "../core/views";
import { findByClass } from "./detector";
import type { FindUnauthorized } from "./reading/container-log";
import { LogWatch, type LogFinding, watchedContainers } from "./reading/log-watch";
import { DEFAULT_RULE } from "./persistence";

/**
 * What the logs of one pod say about 401s.
 * - `unread`: at least one log was not read yet.
 * - `unreadable`: at least one log can't be read.
 * - `quiet`, `suspected`, `persistent`: the worst state among its containers.
 */
export type PodLogState = "unread" | "unreadable" | "quiet" | "suspected" | "persistent";

/** What the logs of one pod say, and when. */
export interface ReviewedPod {
  readonly state: PodLogState;
  /** All its logs were read up to this time; -Infinity if one was not. */
  readonly readMs: number;
}

/** Reviews the logs of pods for remedies whose own evidence is something else. */
export interface PodLogReview {
  /**
   * Wants the logs of these pods to be read, and no longer those that earlier calls with this key named. Returns them by uid.
   *
   * @throws NotYetError while the first logs are being read
   */
  review(key: Key, pods: readonly PodView[], readers: Readers): Promise<ReadonlyMap<string, ReviewedPod>>;
  /** Reads no logs of an object until its next review. */
  pause(key: Key): void;
  /** Forgets all logs of a deleted object. */
  forget(key: Key): void;
}

/** Creates a review that uses the persistence rule of tokenRestart. */
export function createPodLogReview(find: FindUnauthorized = findByClass): PodLogReview {
  const watches = new Map<Key, LogWatch>();

  return {
    async review(key, pods, readers): Promise<ReadonlyMap<string, ReviewedPod>> {
      const watch = watches.get(key) ?? new LogWatch(key);
      watches.set(key, watch);
      const watched = pods.flatMap(watchedContainers);
      await watch.want(readers, watched, { windowMs: DEFAULT_RULE.windowMs, find, rule: DEFAULT_RULE });
      const nowMs = readers.clock.now().getTime();
      return new Map(pods.map(pod => [pod.uid, reviewOf(watch, pod, nowMs)]));
    },

    pause: key => watches.get(key)?.pause(),

    forget(key): void {
      watches.get(key)?.stop();
      watches.delete(key);
    },
  };
}

function reviewOf(watch: LogWatch, pod: PodView, nowMs: number): ReviewedPod {
  const findings = watchedContainers(pod).map(watched => watch.finding(watched, DEFAULT_RULE, nowMs));
  const readMs = findings.length === 0 ? -Infinity : Math.min(...findings.map(one => one.readMs ?? -Infinity));
  return { state: stateOf(findings), readMs };
}

function stateOf(findings: readonly LogFinding[]): PodLogState {
  const states = findings.map(({ persistence }) => persistence.state);
  if (states.includes("persistent")) return "persistent";
  if (states.includes("suspected")) return "suspected";
  if (findings.some(({ error }) => error !== undefined)) return "unreadable";
  const isRead = findings.length > 0 && findings.every(({ readMs }) => readMs !== undefined);
  return isRead ? "quiet" : "unread";
}
