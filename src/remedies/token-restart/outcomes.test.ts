import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../../api/controller-resilience";
import type { PodView } from "../../core/views";
import type { PodFacts, WorkloadFacts } from "./facts";
import { settleRestarts } from "./outcomes";
import { pod } from "./testing/fake-log";
import { workload } from "./testing/scene";

const T = Date.parse("2025-01-01T12:00:00.400Z");
const MINUTE = 60_000;

function entry(over: Partial<RestartStatus> = {}): RestartStatus {
  const time = new Date(T).toISOString();
  return {
    pod: "web-a",
    podUID: "a",
    workload: "Deployment/web",
    time,
    cause: "Unknown",
    outcome: "Restarted",
    ...over,
  };
}

/** A pod that has been well since it was Ready, a second after it was created. */
function well(createdAtMs: number, over: Partial<PodView> = {}): PodFacts {
  const view = pod({ uid: "b", name: "web-b", createdAtMs, readySinceMs: createdAtMs + 1_000, ...over });
  const verdict = { state: "quiet", occasions: 0 } as const;
  return { pod: view, verdict, serviceAccount: "present", readMs: Infinity, unreadable: false };
}

function outcomes(it: RestartStatus, pods: PodFacts[], afterMs: number, over: Partial<WorkloadFacts["workload"]> = {}) {
  const isRollout = over.restartedAtMs !== undefined;
  const settled = settleRestarts([it], { workload: workload(over), pods }, { isRollout }, T + afterMs);
  return settled.map(({ outcome }) => outcome);
}

describe("an eviction", () => {
  it("knows its successor although the API server's clock is five seconds behind", () => {
    expect(outcomes(entry(), [well(T - 5_400)], 100_000)).toEqual(["Recovered"]);
    expect(outcomes(entry(), [well(T - 6_400)], MINUTE)).toEqual(["Restarted"]);
  });

  it("is settled after ten minutes without a successor, so that it does not hold up others for ever", () => {
    expect(outcomes(entry(), [], 10 * MINUTE - 1)).toEqual(["Restarted"]);
    expect(outcomes(entry(), [], 10 * MINUTE)).toEqual(["Ineffective"]);
  });

  it("waits for a successor that is not Ready yet", () => {
    expect(outcomes(entry(), [well(T + 1_000, { ready: false })], 60 * MINUTE)).toEqual(["Restarted"]);
  });
});

describe("a request whose answer was lost", () => {
  const requested = entry({ outcome: "Requested" });
  const same = well(T - 60 * MINUTE, { uid: "a" });

  it("counts for five minutes, since the pods that are known may be those of four minutes ago", () => {
    expect(outcomes(requested, [same], 5 * MINUTE - 1)).toEqual(["Requested"]);
    expect(outcomes(requested, [same], 5 * MINUTE)).toEqual([]);
    expect(outcomes(requested, [], MINUTE)).toEqual(["Restarted"]);
  });

  it("is known as a rollout by its annotation, which is a little older than the entry", () => {
    expect(outcomes(requested, [same], MINUTE, { restartedAtMs: T - 2_000 })).toEqual(["Restarted"]);
    expect(outcomes(requested, [same], MINUTE, { restartedAtMs: T - 30 * MINUTE })).toEqual(["Requested"]);
  });
});
