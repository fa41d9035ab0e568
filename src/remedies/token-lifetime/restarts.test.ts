import { describe, expect, it } from "vitest";
import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { makeObject } from "../../core/testing/objects";
import type { DaemonSetView, PodView } from "../../core/views";
import type { PodLogState } from "../../logs/pod-log-review";
import type { Observed, ObservedDaemonSet } from "./subject";
import { settleRestarts } from "./trial";

const START = Date.parse("2025-01-01T00:00:00Z");

const entry = (outcome: RestartStatus["outcome"], more: Partial<RestartStatus> = {}): RestartStatus => ({
  pod: "agent-1",
  podUID: "old",
  workload: "DaemonSet/agent",
  time: "2025-01-01T00:00:00.500Z",
  cause: Cause.TokenTooLong,
  newestPodTime: "2024-12-31T23:59:59Z",
  outcome,
  ...more,
});

/** A pod that became Ready after ten seconds. */
function pod(
  uid: string,
  more: Partial<PodView> = {},
  logState: PodLogState = "quiet",
): ObservedDaemonSet["pods"][number] {
  const times = { createdAtMs: START, readySinceMs: START + 10_000 };
  const own = { uid, ready: true, mountsToken: true, maxTokenExpirationSeconds: 600, ...times, ...more };
  return { pod: own as PodView, logState, logReadMs: Infinity, isOlderThanServiceAccount: false };
}

/** The outcome of one entry after this many seconds. */
function settled(
  one: RestartStatus,
  seconds: number,
  pods: ObservedDaemonSet["pods"],
): RestartStatus["outcome"] | undefined {
  const own = { view: { name: "agent" } as DaemonSetView, pods };
  const facts = { daemonSets: [own], owner: makeObject("team/it"), restarts: [one] } as unknown as Observed;
  return settleRestarts(facts, START + 1000 * seconds)[0]?.outcome;
}

const OLD = pod("old", { createdAtMs: START - 60_000, maxTokenExpirationSeconds: 3607 });
const GOING = pod("old", { createdAtMs: START - 60_000, deletedAtMs: START });

describe("a request that a crash left behind", () => {
  it.each([
    ["was carried out if its pod is going", [GOING], 1, "Restarted"],
    ["may still be under way", [OLD], 299, "Requested"],
    ["was never carried out if its pod lives on", [OLD], 301, undefined],
  ] as const)("%s", (_, pods, seconds, outcome) => {
    expect(settled(entry("Requested"), seconds, pods)).toBe(outcome);
  });
});

describe("a replacement", () => {
  it.each<[string, ObservedDaemonSet["pods"], number, RestartStatus["outcome"]]>([
    ["has helped when the successor is Ready for half a minute", [pod("new")], 40, "Recovered"],
    ["has not helped yet before that", [pod("new")], 39, "Restarted"],
    ["... nor while it is not Ready", [pod("new", { ready: false })], 599, "Restarted"],
    ["... nor while 401s are suspected", [pod("new", {}, "suspected")], 599, "Restarted"],
    ["... nor while its logs are unreadable", [pod("new", {}, "unreadable")], 599, "Restarted"],
    ["... nor by a pod that was there before", [pod("another", { createdAtMs: START - 6_000 })], 599, "Restarted"],
    ["is ineffective after ten minutes", [pod("new", { ready: false })], 601, "Ineffective"],
    [
      "is decided by the first pod after it",
      [pod("later", { createdAtMs: START + 9_000 }, "persistent"), pod("new")],
      40,
      "Recovered",
    ],
  ])("%s", (_, pods, seconds, outcome) => {
    expect(settled(entry("Restarted"), seconds, pods)).toBe(outcome);
  });

  it("of a former target, or with an invalid time, blocks nothing forever", () => {
    const other = entry("Restarted", { workload: "DaemonSet/other" });
    expect([settled(other, 599, []), settled(other, 601, [])]).toEqual(["Restarted", "Replaced"]);
    expect(settled(entry("Restarted", { time: "yesterday" }), 1, [])).toBe("Ineffective");
  });
});
