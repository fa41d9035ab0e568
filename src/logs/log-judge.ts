import type { JudgedLogs, LogJudge, LogVerdict } from "../core/log-judge";
import type { Key } from "../core/ports";
import type { Readers } from "../core/readers";
import type { PodView } from "../core/views";
import { findByClass as find } from "./detector";
import { hasLog, LogWatch, type Watched } from "./reading/log-watch";
import type { PersistenceRule } from "./persistence";

/** What tokenRestart takes for persistent by default. */
const RULE: PersistenceRule = { occasions: 3, windowMs: 900_000, minDurationMs: 60_000 };

/** The eyes of this remedy, for others: the same classifier and the same persistence, without anything being restarted. */
export function createLogJudge(): LogJudge {
  const watches = new Map<Key, LogWatch>();

  return {
    async judge(key: Key, pods: readonly PodView[], from: Readers): Promise<JudgedLogs> {
      const watch = watches.get(key) ?? new LogWatch();
      watches.set(key, watch);
      const watched = pods.flatMap(watchedOf);
      await watch.pass(from, watched, { windowMs: RULE.windowMs, find, rule: RULE });
      const nowMs = from.clock.now().getTime();
      const verdicts = new Map(pods.map(pod => [pod.uid, verdictOf(watch, pod, nowMs)]));
      return { verdicts, nextReadInMs: watch.nextReadInMs(from, watched, RULE) };
    },

    forget: key => void watches.delete(key),
  };
}

function watchedOf(pod: PodView): Watched[] {
  // A pod that is being deleted is answered 401 by design.
  if (pod.deletedAtMs !== undefined) return [];
  const containers = pod.containers.filter(container => container.role !== "init" && hasLog(container));
  return containers.map(container => ({ pod, container, suspicious: false }));
}

function verdictOf(watch: LogWatch, pod: PodView, nowMs: number): LogVerdict {
  const findings = watchedOf(pod).map(item => watch.finding(item, RULE, nowMs));
  const states = findings.map(({ verdict }) => verdict.state);
  if (states.includes("persistent")) return "persistent";
  if (states.includes("suspected")) return "suspected";
  if (findings.some(({ error }) => error !== undefined)) return "unreadable";
  const isRead = findings.length > 0 && findings.every(({ readMs }) => readMs !== undefined);
  return isRead ? "quiet" : "unread";
}
