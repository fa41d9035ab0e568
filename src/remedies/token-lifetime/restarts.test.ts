import { expect, it } from "vitest";
import { Cause } from "../../api/conditions";
import type { RestartStatus } from "../../api/controller-resilience";
import type { DaemonSetView, PodView } from "../../core/views";
import type { Observed } from "./subject";
import { settleRestarts } from "./trial";

const START = Date.parse("2025-01-01T00:00:00Z");

const RESTART: RestartStatus = {
  ...{ pod: "agent-1", podUID: "old", workload: "DaemonSet/agent", cause: Cause.TokenTooLong, outcome: "Restarted" },
  ...{ time: "2025-01-01T00:00:00.500Z", newestPodTime: "2024-12-31T23:59:59Z" },
};

it.each<[string, Partial<PodView>, number, RestartStatus["outcome"]]>([
  ["has helped when its successor is Ready", { ready: true }, 10, "Recovered"],
  ["has not helped while it is not Ready", { ready: false }, 599, "Restarted"],
  ["has not helped by a pod that was there before", { ready: true, createdAtMs: START - 6_000 }, 599, "Restarted"],
  ["has not helped by a pod that is going", { ready: true, deletedAtMs: START }, 599, "Restarted"],
  ["is ineffective after ten minutes", { ready: false }, 601, "Ineffective"],
])("a replacement %s", (_, more, seconds, outcome) => {
  const pod = { uid: "new", createdAtMs: START, ...more } as PodView;
  const daemonSets = [{ view: { name: "agent" } as DaemonSetView, pods: [pod] }];
  const observed = { daemonSets, restarts: [RESTART] } as unknown as Observed;
  expect(settleRestarts(observed, START + 1000 * seconds)).toEqual([{ ...RESTART, outcome }]);
});
