import type { Problem } from "../../core/errors";
import type { Readers } from "../../core/readers";
import type { PodView } from "../../core/views";
import { findAny } from "../../logs/detector";
import { DEFAULT_RULE } from "../../logs/persistence";
import { type LogFinding, type LogWatch, watchedContainers } from "../../logs/reading/log-watch";
import { canBeAgent, failuresSince, SandboxTraces } from "../../logs/sandboxes";
import { unlessUnreadable } from "../kit/problems";

// What the logs of pods, and Events about their nodes, say around a change. By the persistence rule of tokenRestart.

/** States of pods, worst first. `unread`: at least one log was not read yet; `unreadable`: at least one can't be read. */
const STATES = ["persistent", "suspected", "unreadable", "unread", "quiet"] as const;

/** What the logs of a pod, or Events about its node, say about 401s. */
export type PodLogState = (typeof STATES)[number];

/** Returns the worst of the states; without one, nothing was read. */
export function worstOf(states: readonly PodLogState[]): PodLogState {
  return STATES.find(state => states.includes(state)) ?? "unread";
}

/** What the logs of one pod say, and when. */
export interface ReviewedPod {
  readonly state: PodLogState;
  /** All its logs were read up to this time; -Infinity if one was not. */
  readonly readMs: number;
}

/**
 * Wants the logs of these pods to be read, and no longer those that earlier calls named. Returns what they say, by uid.
 *
 * @throws NotYetError while the first logs are being read
 */
export async function reviewLogs(
  watch: LogWatch,
  pods: readonly PodView[],
  readers: Readers,
): Promise<ReadonlyMap<string, ReviewedPod>> {
  const search = { find: findAny, rule: DEFAULT_RULE };
  const watched = pods.flatMap(pod => watchedContainers(pod));
  await watch.want(readers, watched, search);
  const reviewed = (pod: PodView): ReviewedPod => {
    const findings = watchedContainers(pod).map(one => watch.finding(one));
    const times = findings.map(({ readMs = -Infinity }) => readMs);
    return { state: worstOf(findings.map(stateOf)), readMs: times.length === 0 ? -Infinity : Math.min(...times) };
  };
  return new Map(pods.map(pod => [pod.uid, reviewed(pod)]));
}

function stateOf({ persistence: { state }, error, readMs }: LogFinding): PodLogState {
  if (state !== "quiet") return state;
  if (error !== undefined) return "unreadable";
  return readMs === undefined ? "unread" : "quiet";
}

/** The kubelet tries again every 10 to 15 seconds, so this long without an Event means that pods start, or that none is to start. */
const WATCHED_MS = 120_000;

/** A review without a successor for this long is over: what happened since is not known, in milliseconds. */
const MAX_GAP_MS = 300_000;

/** The sandbox failures on the nodes of one object's CNI agents. */
export class SandboxWatch {
  #traces = new SandboxTraces();
  #sinceMs = -Infinity;
  #lastMs = -Infinity;

  /**
   * Returns the state of each pod that can be a CNI agent, by uid; `unread` until the Events were watched for two minutes, `unreadable`
   * without the right to read them. `pods` are of one namespace.
   */
  async review(pods: readonly PodView[], readers: Readers): Promise<ReadonlyMap<string, PodLogState>> {
    const agents = pods.filter(canBeAgent);
    const [{ namespace } = { namespace: "" }] = agents;
    if (agents.length === 0) return new Map();
    const problems: Problem[] = [];
    const events = await unlessUnreadable(() => readers.sandboxEvents(namespace), problems);
    const unread = problems.some(({ forbidden }) => forbidden) ? "unreadable" : "unread";
    if (events === undefined) return new Map(agents.map(({ uid }) => [uid, unread]));
    const nowMs = readers.clock.now().getTime();
    if (nowMs - this.#lastMs > MAX_GAP_MS) [this.#traces, this.#sinceMs] = [new SandboxTraces(), nowMs];
    this.#lastMs = nowMs;
    this.#traces.take(events, DEFAULT_RULE.windowMs, nowMs);
    this.#traces.seeAgents(agents, nowMs);
    return new Map(agents.map(pod => [pod.uid, this.#stateOf(pod, nowMs)]));
  }

  #stateOf(pod: PodView, nowMs: number): PodLogState {
    const { namespace, nodeName = "" } = pod;
    const context = { failures: this.#traces.of(nodeName), namespace, rule: DEFAULT_RULE, nowMs };
    const { state } = failuresSince(this.#traces.readySince([pod]), context);
    return state === "quiet" && nowMs - this.#sinceMs < WATCHED_MS ? "unread" : state;
  }
}
