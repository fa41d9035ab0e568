import { describe, expect, it } from "vitest";
import { Cause } from "../api/conditions";
import type { RestartStatus } from "../api/controller-resilience";
import type { RestartClaim } from "../core/intent";
import {
  checkRestartBudget,
  joinRestarts,
  pruneRestarts,
  requestedRestart,
  RESTARTS_KEPT,
  settleOpenRestarts,
} from "./history";
import { pod } from "../core/testing/views";
import { restartAt } from "./testing/history";

const MINUTE = 60_000;
const NOW = new Date("2025-06-01T12:00:00Z");

function claim(changes: Partial<RestartClaim> = {}): RestartClaim {
  return {
    workload: "Deployment/app",
    pod: "app-new",
    podUID: "uid-new",
    newestPodMs: NOW.getTime() - MINUTE,
    cause: Cause.Unknown,
    limits: { cooldownMs: 10 * MINUTE, maxRestarts: 3 },
    ...changes,
  };
}

function entry(minutesAgo: number, changes: Partial<RestartStatus> = {}): RestartStatus {
  const ms = NOW.getTime() - minutesAgo * MINUTE;
  return restartAt(ms, { newestPodTime: new Date(ms - 1_000).toISOString(), ...changes });
}

const refused = (limit: string, minutes: number) => ({ limit, retryAfterMs: minutes * MINUTE });

describe("the cooldown", () => {
  it("defers restarts until it is over, to the millisecond, also after a request that a crash has left open", () => {
    for (const outcome of ["Requested", "Restarted", "Recovered"] as const)
      expect(checkRestartBudget([entry(4, { outcome })], claim(), NOW)).toEqual(refused("cooldown", 6));
    expect(checkRestartBudget([entry(10)], claim(), NOW)).toBeUndefined();
  });

  it("doubles while restarts do not help, until one does", () => {
    const ineffective = { outcome: "Ineffective" as const };
    expect(checkRestartBudget([entry(15, ineffective)], claim(), NOW)).toEqual(refused("cooldown", 5));
    const twice = [entry(100, ineffective), entry(39, ineffective)];
    expect(checkRestartBudget(twice, claim(), NOW)).toEqual(refused("cooldown", 1));
    expect(checkRestartBudget([...twice, entry(11)], claim(), NOW)).toBeUndefined();
  });

  it("neither ends nor doubles after an unconfirmed replacement", () => {
    const replaced = { outcome: "Replaced" as const };
    expect(checkRestartBudget([entry(4, replaced)], claim(), NOW)).toEqual(refused("cooldown", 6));
    const history = [entry(100, { outcome: "Ineffective" }), entry(15, replaced)];
    expect(checkRestartBudget(history, claim(), NOW)).toEqual(refused("cooldown", 5));
  });

  it("does not hold a sibling of an unconfirmed replacement whose cause is proven, and holds any other", () => {
    const old = { podCreatedAtMs: NOW.getTime() - 60 * MINUTE };
    const replaced = (cause: Cause) => [entry(1, { cause, outcome: "Replaced" })];
    const proven = { ...old, cause: Cause.SigningKeyRotated };
    expect(checkRestartBudget(replaced(Cause.SigningKeyRotated), claim(proven), NOW)).toBeUndefined();
    for (const cause of [Cause.Unknown, Cause.LeaseNotRenewed])
      expect(checkRestartBudget(replaced(cause), claim({ ...old, cause }), NOW)).toEqual(refused("cooldown", 9));
  });

  it("is timed from an entry in the future, so that its end stays the same, and has no end for an unreadable time", () => {
    expect(checkRestartBudget([entry(-500)], claim(), NOW)).toEqual(refused("cooldown", 510));
    expect(checkRestartBudget([entry(0, { time: "yesterday" })], claim(), NOW)).toEqual(refused("cooldown", Infinity));
  });
});

describe("maxRestarts", () => {
  const recreated = (minutes: number): RestartStatus =>
    entry(minutes, { cause: Cause.ServiceAccountRecreated, serviceAccountUID: `sa of ${minutes}` });
  const next = claim({ cause: Cause.ServiceAccountRecreated, serviceAccountUID: "sa-2" });

  it("defers restarts until the oldest incident leaves the window", () => {
    expect(checkRestartBudget([50, 35, 20].map(recreated), next, NOW)).toEqual(refused("maxRestarts", 10));
    expect(checkRestartBudget([60, 35, 20].map(recreated), next, NOW)).toBeUndefined();
  });

  it("counts pods of one proven incident once if each replacement helped", () => {
    const incident = { serviceAccountUID: "sa-2", cause: Cause.ServiceAccountRecreated };
    const rolled = [entry(50, incident), entry(35, incident), entry(20, incident)];
    expect(checkRestartBudget(rolled, claim(), NOW)).toBeUndefined();
    const failed = rolled.map(one => ({ ...one, outcome: "Restarted" as const }));
    expect(checkRestartBudget(failed, claim(), NOW)).toBeDefined();
  });
});

describe("pods of one incident", () => {
  const proven = { serviceAccountUID: "sa-2", cause: Cause.ServiceAccountRecreated };
  const podCreatedAtMs = NOW.getTime() - 60 * MINUTE;

  it.each<[string, Partial<RestartStatus>, Partial<RestartClaim>]>([
    ["the previous pod had another ServiceAccount", { ...proven, serviceAccountUID: "sa-1" }, proven],
    ["it is the same pod", { ...proven, podUID: "uid-new" }, proven],
    ["the pod is younger than that restart", {}, { podCreatedAtMs: NOW.getTime() - 30_000 }],
    ["the pod is as old as that restart", {}, { podCreatedAtMs: NOW.getTime() - MINUTE }],
    ["the time of that restart is unreadable", { time: "yesterday" }, {}],
  ])("wait like others when %s", (_why, before, next) => {
    expect(checkRestartBudget([entry(1, before)], claim({ podCreatedAtMs, ...next }), NOW)).toBeDefined();
  });

  it("wait for the cooldown until an unproven restart is an hour old, if its pod had worked for less than half of it", () => {
    const worked = (minutesAgo: number, workedSeconds: number) =>
      checkRestartBudget([entry(minutesAgo, { workedSeconds })], claim({ podCreatedAtMs }), NOW);
    expect(worked(4, 0)).toEqual(refused("cooldown", 6));
    expect(worked(4, 1_799)).toEqual(refused("cooldown", 6));
    expect(worked(4, 1_800)).toBeUndefined();
    const three = [11, 12, 29].map(minutesAgo => entry(minutesAgo, { workedSeconds: 1_000 }));
    expect(checkRestartBudget(three, claim({ podCreatedAtMs }), NOW)).toEqual(refused("maxRestarts", 31));
  });

  it("do not wait for a restart in a future that another leader's clock had reached", () => {
    const limits = { cooldownMs: 600 * MINUTE, maxRestarts: 3 };
    const waits = (minutesAgo: number) =>
      checkRestartBudget([entry(minutesAgo, { workedSeconds: 600 })], claim({ podCreatedAtMs: 0, limits }), NOW);
    const waiting = [-120, -0.05, 0, 59, 60].map(minutesAgo => waits(minutesAgo) !== undefined);
    expect(waiting).toEqual([false, true, true, true, false]);
  });
});

describe("pods of one proven incident, of which maxUnavailable allows several at a time", () => {
  const proven = { serviceAccountUID: "sa-2", cause: Cause.ServiceAccountRecreated };
  const open = { ...proven, outcome: "Restarted" as const };
  const next = (changes: Partial<RestartClaim> = {}) =>
    claim({ ...proven, podCreatedAtMs: NOW.getTime() - 60 * MINUTE, ...changes });

  it("do not wait for each other's outcome", () => {
    expect(checkRestartBudget([entry(1, open)], next(), NOW)).toBeUndefined();
    expect(checkRestartBudget([entry(2, open), entry(1, open)], next(), NOW)).toBeUndefined();
    const byKeys = { cause: Cause.SigningKeyRotated, outcome: "Requested" as const };
    expect(checkRestartBudget([entry(1, byKeys)], next({ cause: Cause.SigningKeyRotated }), NOW)).toBeUndefined();
  });

  it("wait once maxRestarts are open and none has helped yet", () => {
    const history = [4, 3, 2].map(minutes => entry(minutes, open));
    expect(checkRestartBudget(history, next(), NOW)).toEqual(refused("maxRestarts", 56));
    expect(checkRestartBudget([entry(30, proven), ...history], next(), NOW)).toBeUndefined();
  });

  it.each<[string, Partial<RestartStatus>[], Partial<RestartClaim>]>([
    ["the last one with an outcome did not help", [{ ...proven, outcome: "Ineffective" }, open], {}],
    ["only logs speak for it", [{ outcome: "Restarted" }], { cause: Cause.Unknown }],
    ["Events speak for it", [{ ...open, cause: Cause.CniCredentialRejected }], { cause: Cause.CniCredentialRejected }],
    ["the open restart is one of another incident", [{ ...open, serviceAccountUID: "sa-1" }], {}],
    ["the pod may be the successor of the open restart", [open], { podCreatedAtMs: NOW.getTime() - MINUTE }],
    ["it is the pod of the open restart", [{ ...open, podUID: "uid-new" }], {}],
  ])("wait like others when %s", (_why, before, changes) => {
    const history = before.map((one, i) => entry(25 * (before.length - 1 - i) + 1, one));
    expect(checkRestartBudget(history, next(changes), NOW)).toEqual(refused("cooldown", 9));
  });
});

describe("restarts for another cause", () => {
  const proven = claim({ serviceAccountUID: "sa-2", cause: Cause.ServiceAccountRecreated });

  it("do not delay a restart once they have an outcome", () => {
    const failed = [30, 20, 1].map(minutes => entry(minutes, { outcome: "Ineffective" }));
    expect(checkRestartBudget(failed, proven, NOW)).toBeUndefined();
  });

  it("delay the restart of the same pod", () => {
    expect(checkRestartBudget([entry(1, { podUID: "uid-new" })], proven, NOW)).toEqual(refused("cooldown", 9));
  });
});

describe("entries", () => {
  it("are written before the restart", () => {
    const requested = requestedRestart(claim({ serviceAccountUID: "sa-2" }), NOW);
    expect(requested).toEqual({
      pod: "app-new",
      podUID: "uid-new",
      workload: "Deployment/app",
      time: "2025-06-01T12:00:00.000Z",
      cause: "Unknown",
      outcome: "Requested",
      newestPodTime: "2025-06-01T11:59:00Z",
      serviceAccountUID: "sa-2",
    });
    expect(requestedRestart(claim(), NOW)).not.toHaveProperty("serviceAccountUID");
  });
});

describe("pruning", () => {
  it("keeps the last ten, and older entries that are young or open, oldest first", () => {
    const many = Array.from({ length: 30 }, (_, i) => entry(100 * (30 - i)));
    const open = entry(9_999, { outcome: "Requested" });
    const kept = pruneRestarts([...many, open], NOW, 1_250 * MINUTE);
    expect(kept[0]).toEqual(open);
    expect(kept).toHaveLength(1 + 12);
    expect(pruneRestarts(many, NOW, 0)).toEqual(many.slice(-RESTARTS_KEPT));
    expect(pruneRestarts([...many, entry(0, { outcome: "Requested" })], NOW, 0)).toHaveLength(RESTARTS_KEPT + 1);
  });

  it("keeps the newest of those that have certainly helped beyond the last ten", () => {
    const recreated = { serviceAccountUID: "sa-2", cause: Cause.ServiceAccountRecreated };
    const many = Array.from({ length: 100 }, (_, i) => entry(100 - i, recreated));
    expect(pruneRestarts(many, NOW, 1_000 * MINUTE)).toHaveLength(RESTARTS_KEPT);
  });
});

describe("restarts of several remedies", () => {
  it("are merged by time, each as reported by its own remedy; entries of no remedy stay", () => {
    const [open, helped] = [entry(4, { outcome: "Restarted" }), entry(4)];
    const token = entry(3, { cause: Cause.TokenTooLong, outcome: "Requested" });
    const foreign = entry(9, { cause: "Somebody" });
    const told = [
      { causes: ["Unknown"], restarts: [helped] },
      { causes: ["TokenTooLong"], restarts: [] },
    ];
    expect(joinRestarts([open, token, foreign], told)).toEqual([foreign, helped]);
    expect(joinRestarts([open, token, foreign], [])).toEqual([foreign, open, token]);
  });
});

describe("an open restart that was requested", () => {
  function settle(executed: boolean, afterMinutes = 0, { outcome = "Recovered", time = NOW.toISOString() } = {}) {
    const one = entry(0, { outcome: "Requested", time });
    const pods = executed ? [] : [{ view: pod({ uid: one.podUID }) }];
    const workloads = new Map([[one.workload, { pods }]]);
    const evidence = { causes: [Cause.Unknown], workloads, outcomeOf: () => outcome as RestartStatus["outcome"] };
    return settleOpenRestarts([one], evidence, NOW.getTime() + afterMinutes * MINUTE).map(settled => settled.outcome);
  }

  it("is executed once its effect is visible, and then has the outcome that was observed", () => {
    expect(settle(true, 0, { outcome: "Restarted" })).toEqual(["Restarted"]);
    expect(settle(true)).toEqual(["Recovered"]);
  });

  it("stays open for five minutes without a visible effect, and is dropped then", () => {
    expect(settle(false, 4.99)).toEqual(["Requested"]);
    expect(settle(false, 5)).toEqual([]);
    expect(settle(false, 0, { time: "yesterday" })).toEqual([]);
  });
});
