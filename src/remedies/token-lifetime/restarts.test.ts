import { describe, expect, it } from "vitest";
import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import { makeObject } from "../../core/testing/objects";
import type { DaemonSetView, PodView } from "../../core/views";
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

/** A Ready pod. */
function pod(uid: string, more: Partial<PodView> = {}): ObservedDaemonSet["pods"][number] {
  const view = { uid, ready: true, createdAtMs: START, ...more } as PodView;
  return { pod: view, logState: "quiet", logReadMs: Infinity, isOlderThanServiceAccount: false };
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

const OLD = pod("old", { createdAtMs: START - 60_000 });
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
    ["has helped when its successor is Ready", [pod("new")], 10, "Recovered"],
    ["has not helped while it is not Ready", [pod("new", { ready: false })], 599, "Restarted"],
    ["... nor by a pod that was there before", [pod("another", { createdAtMs: START - 6_000 })], 599, "Restarted"],
    ["is ineffective after ten minutes", [pod("new", { ready: false })], 601, "Ineffective"],
  ])("%s", (_, pods, seconds, outcome) => {
    expect(settled(entry("Restarted"), seconds, pods)).toBe(outcome);
  });

  it("of a former target, or with an invalid time, blocks nothing forever", () => {
    const other = entry("Restarted", { workload: "DaemonSet/other" });
    expect([settled(other, 599, []), settled(other, 601, [])]).toEqual(["Restarted", "Replaced"]);
    expect(settled(entry("Restarted", { time: "yesterday" }), 1, [])).toBe("Ineffective");
  });
});
