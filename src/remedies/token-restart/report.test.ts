import { describe, expect, it } from "vitest";
import type { Execution, Outcome } from "../../core/intent";
import type { PendingWrite } from "../../core/remedy";
import { intentsOf } from "../../core/testing/remedy-sample";
import type { Observed, ObservedWorkload } from "./observed";
import { planRestarts } from "./plan";
import { reportTokens } from "./report";
import { pod } from "./testing/fake-log";
import { DEFAULTS, workload } from "./testing/scene";

const NOW = new Date("2025-01-01T12:00:00Z");

/** A workload with one pod that persistently gets 401 responses. */
function rejected(name: string): ObservedWorkload {
  const lastMs = NOW.getTime() - 1_000;
  const logs = { state: "persistent", occasions: 7, firstMs: lastMs - 130_000, lastMs } as const;
  const view = pod({ name: `${name}-a`, uid: `uid-${name}-a` });
  return {
    view: workload({ name, uid: `uid-${name}` }),
    pods: [{ view, logs, serviceAccount: "present", readMs: lastMs, unreadable: false }],
  };
}

function observed(...names: string[]): Observed {
  const nothing = {
    restarts: [],
    previousTargets: [],
    missingTargets: [],
    ambiguousNodes: [],
    oneSidedNodes: [],
    problems: [],
  };
  const workloads = names.map(name => rejected(name));
  return {
    generation: 1,
    readIntervalMs: 30_000,
    mode: "Enforce",
    workloads,
    ...nothing,
  };
}

/** Reports on a plan with one outcome per workload. */
function report(outcomes: Readonly<Record<string, Outcome>>) {
  const plan = planRestarts(observed(...Object.keys(outcomes)), DEFAULTS, NOW, []);
  const executions = plan.items.map(({ id, intents }) => {
    const outcome = outcomes[id.replace("uid-", "")] ?? { result: "NotLeader" };
    return [id, intents.map((intent): Execution => ({ intent, outcome }))] as const;
  });
  return reportTokens(plan, new Map(executions), NOW);
}

const WEB = "Pod web-a got 401 responses on 5 or more occasions over 2m or more (cause unknown).";

describe("the report on a restart", () => {
  it.each<[Outcome, string]>([
    [{ result: "NotLeader" }, "The operator is about to evict the pod."],
    [{ result: "Executed" }, "Evicted; watching its successor."],
    [
      { result: "Blocked", message: "would violate the pod's disruption budget", retryAfterMs: 10_000 },
      "Restart blocked: a PodDisruptionBudget does not allow the eviction, next try at 2025-01-01T12:00:10Z.",
    ],
    [
      { result: "Blocked", message: "too many requests", retryAfterMs: 10_000 },
      "Restart blocked: the API server refused the restart for now, next try at 2025-01-01T12:00:10Z.",
    ],
    [
      { result: "Limited", limit: "RestartPacer", retryAfterMs: 1 },
      "Waiting: the operator paces restarts, one per --restart-interval.",
    ],
    [
      { result: "Limited", limit: "LeaderWarmup", retryAfterMs: 1 },
      "Waiting: the new leader is still loading restarts of all namespaces, since the restart rests on logs alone.",
    ],
    [
      { result: "Limited", limit: "PassTime", retryAfterMs: 1 },
      "Waiting for the next pass: other writes used up the time of this one.",
    ],
    [{ result: "Limited", limit: "UnprovenRestart", retryAfterMs: 1, detail: "Waiting: pod x." }, "Waiting: pod x."],
    [{ result: "Limited", limit: "Breaker", retryAfterMs: 1, detail: "Breaker tripped." }, "Breaker tripped."],
    [{ result: "Limited", limit: "Cooldown", retryAfterMs: 60_000 }, "Waiting until 2025-01-01T12:01:00Z (cooldown)."],
    [{ result: "Forbidden", message: "no permission" }, "The operator may not evict Pod web-a: no permission."],
    [{ result: "Failed", message: "timeout" }, "Restart failed, retrying: timeout."],
  ])("describes the evidence and the outcome %j", (outcome, sentence) => {
    expect(report({ web: outcome }).message).toBe(`${WEB} ${sentence}`);
  });

  it("describes each workload by its own outcome, and begins with the gravest", () => {
    const { reason, message, stalled } = report({
      web: { result: "Executed" },
      db: { result: "Forbidden", message: "no permission" },
    });
    expect({ reason, stalled }).toMatchObject({ reason: "Forbidden", stalled: { reason: "Forbidden" } });
    expect(message).toMatch(
      /^Pod db-a got .* The operator may not evict Pod db-a: no permission\. Pod web-a got .* Evicted; watching/,
    );
  });
});

describe("the report on several workloads", () => {
  const { view, pods } = rejected("any");
  const quiet = { state: "quiet", occasions: 0 } as const;
  const healthy = (name: string): ObservedWorkload => ({
    view: { ...view, name, uid: `uid-${name}` },
    pods: pods.map(one => ({ ...one, view: pod({ name: `${name}-a`, uid: `uid-${name}-a` }), logs: quiet })),
  });
  const empty = (name: string): ObservedWorkload => ({ view: { ...healthy(name).view, replicas: 0 }, pods: [] });
  const orphaned = (name: string): ObservedWorkload => ({
    ...healthy(name),
    pods: healthy(name).pods.map(one => ({ ...one, serviceAccount: "missing" as const })),
  });
  const reportOn = (...workloads: ObservedWorkload[]) => {
    const plan = planRestarts({ ...observed(), workloads }, DEFAULTS, NOW, []);
    const outcomes = plan.items.map(({ id, intents }) => {
      return [id, intents.map((intent): Execution => ({ intent, outcome: { result: "Executed" } }))] as const;
    });
    const { status, reason, message } = reportTokens(plan, new Map(outcomes), NOW);
    return { status, reason, message };
  };

  it("is about the pods that exist", () => {
    expect(reportOn(empty("a"), healthy("b"), healthy("c"), empty("d"))).toEqual({
      status: "True",
      reason: "Accepted",
      message: "4 workloads (2 pods): no pod persistently gets 401 responses. 2 of them have no pods.",
    });
    expect(reportOn(empty("a"), healthy("b")).message).toMatch(/ 1 of them has no pods\.$/);
    expect(reportOn(empty("a"), empty("b"))).toMatchObject({ status: "True", reason: "NoPods" });
  });

  it("counts the workloads by reason", () => {
    const { reason, message } = reportOn(orphaned("a"), rejected("b"), rejected("c"), healthy("d"));
    expect(reason).toBe("ServiceAccountMissing");
    expect(message).toMatch(/^ServiceAccount .* Of 4 workloads: 1 ServiceAccountMissing, 2 Restarting, 1 Accepted\.$/);
  });

  it("does not count where all have one reason", () => {
    expect(reportOn(rejected("b"), rejected("c")).message).not.toMatch(/workloads:/);
  });
});

describe("the report while the restart breaker is tripped", () => {
  it("is Stalled, and begins with the breaker", () => {
    const detail = "Restart breaker tripped: why; what to do";
    const tripped = { result: "Limited", limit: "Breaker", retryAfterMs: 1, detail } as const;
    const { status, reason, message, stalled, progressing } = report({
      db: { result: "Limited", limit: "UnprovenRestart", retryAfterMs: 1, detail: "Waiting." },
      web: tripped,
    });
    expect({ status, reason, progressing }).toEqual({ status: "False", reason: "BreakerTripped", progressing: false });
    expect(message).toMatch(/^Pod web-a got .* Restart breaker tripped: why; what to do/);
    expect(stalled).toEqual({ reason: "BreakerTripped", message: detail });
  });

  it("names another restart without proof as a reason to wait", () => {
    const { reason, stalled, progressing } = report({
      web: { result: "Limited", limit: "UnprovenRestart", retryAfterMs: 1, detail: "Waiting." },
    });
    expect({ reason, stalled, progressing }).toEqual({
      reason: "RestartDeferred",
      stalled: undefined,
      progressing: true,
    });
  });
});

describe("a restart in backoff", () => {
  const [eviction] = intentsOf(planRestarts(observed("web"), DEFAULTS, NOW, []));
  const pending = (changes: Partial<PendingWrite>): PendingWrite[] => {
    const outcome = { result: "Blocked", message: "disruption budget", retryAfterMs: 1 } as const;
    const { verb, target, restart } = eviction!;
    return [{ verb, target, restart: restart!, outcome, untilMs: NOW.getTime() + 10_000, ...changes }];
  };

  it("is not planned again while the API server refuses it", () => {
    const plan = planRestarts(observed("web"), DEFAULTS, NOW, pending({}));
    expect(intentsOf(plan)).toEqual([]);
    expect(reportTokens(plan, new Map(), NOW)).toMatchObject({
      reason: "RestartBlocked",
      message:
        "Deployment/web: 1 of 1 pod rejected; a PodDisruptionBudget does not allow the eviction, next try at 2025-01-01T12:00:10Z.",
    });
  });

  it.each<[string, Partial<PendingWrite>]>([
    ["its time is over", { untilMs: NOW.getTime() }],
    ["the write failed for another reason", { outcome: { result: "Failed", message: "timeout" } }],
  ])("is planned again when %s", (_, changes) => {
    expect(intentsOf(planRestarts(observed("web"), DEFAULTS, NOW, pending(changes)))).toHaveLength(1);
  });
});
