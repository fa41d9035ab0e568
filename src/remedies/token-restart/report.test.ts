import { describe, expect, it } from "vitest";
import type { Execution, LimitReason, Outcome } from "../../core/intent";
import type { StatusOwner } from "../../core/metrics";
import { recreatingHookOf } from "../../cluster/read/views";
import type { ServiceAccountView } from "../../core/views";
import type { Observed, ObservedWorkload } from "./observed";
import { planRestarts, reportTokens, TOKEN_GAUGES } from "./plan";
import { pod, workload } from "../../core/testing/views";
import { limited as limitedBy } from "../../restarts/history";
import { DEFAULTS, Scene, UNAUTHORIZED } from "./testing/scene";

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
  const nothing = { restarts: [], missingTargets: [], doubtfulNodes: [], problems: [] };
  return { mode: "Enforce", workloads: names.map(name => rejected(name)), ...nothing };
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

const WEB = "Pod web-a got 401 responses on 3 or more occasions over 2m or more (cause unknown).";

describe("the report on a restart", () => {
  const blocked = (message: string): Outcome => ({ result: "Blocked", message, retryAfterMs: 10_000 });
  const limited = (limit: LimitReason, detail?: string): Outcome => limitedBy(limit, 1, detail);
  const eviction = "the eviction of pod web-a, next try at 2025-01-01T12:00:10Z.";

  it.each<[Outcome, string]>([
    [{ result: "NotLeader" }, "The operator is about to evict the pod."],
    [{ result: "Executed" }, "Evicted; watching its successor."],
    [blocked("disruption budget"), `Restart blocked: a PodDisruptionBudget does not allow ${eviction}`],
    [blocked("too many"), `Restart blocked: the API server refused for now ${eviction}`],
    [limited("RestartPacer"), "Restart held back by the operator's restart pace."],
    [
      limited("LeaderWarmup"),
      "Restart held back by the new leader, which is still loading the restarts and rollouts of all namespaces.",
    ],
    [limited("PassTime"), "Restart held back by the time limit for the writes of one pass; the next pass continues."],
    [limited("UnprovenRestart", "Waiting: pod x."), "Waiting: pod x."],
    [limited("Breaker", "Breaker tripped."), "Breaker tripped."],
    [limited("SamePass"), "Restart held back by another restart of the workload in the same pass."],
    [{ result: "Forbidden", message: "no permission" }, "The operator may not evict Pod web-a: no permission."],
    [{ result: "Failed", message: "timeout" }, "Restart failed, retrying: timeout."],
  ])("describes the evidence and the outcome %j", (outcome, sentence) => {
    expect(report({ web: outcome }).message).toBe(`${WEB} ${sentence}`);
  });

  it.each([
    [{}, " 1 more pod of Deployment/web will follow."],
    [{ skip: true }, ""],
    [{ mountsToken: false }, ""],
  ])("says that another pod follows, unless no restart may or can heal it: %j", (other, follows) => {
    const all = observed("web");
    const [{ view, pods }] = all.workloads as [ObservedWorkload];
    const both = [...pods, ...pods.map(one => ({ ...one, view: pod({ name: "web-b", uid: "uid-web-b", ...other }) }))];
    const plan = planRestarts(
      { ...all, workloads: [{ view: { ...view, replicas: 2 }, pods: both }] },
      DEFAULTS,
      NOW,
      [],
    );
    expect(reportTokens(plan, new Map(), NOW).message).toBe(`${WEB}${follows} The operator is about to evict the pod.`);
  });

  it("describes each workload by its own outcome, and is Stalled by the one that needs a person", () => {
    const { reason, message, stalled } = report({
      web: { result: "Executed" },
      db: { result: "Forbidden", message: "no permission" },
    });
    expect({ reason, stalled }).toMatchObject({ reason: "Restarting", stalled: { reason: "Forbidden" } });
    expect(stalled?.message).toMatch(/^Pod db-a got .* The operator may not evict Pod db-a: no permission\.$/);
    expect(message).toMatch(/^Pod web-a got .* Evicted; watching .* Pod db-a got .* may not evict/);
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
      message: "4 workloads (2 pods): no pod persistently gets 401 responses.",
    });
    expect(reportOn(empty("a"), empty("b"))).toMatchObject({ status: "True", reason: "NothingToDo" });
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
    const { status, reason, message, stalled } = report({
      db: { result: "Limited", limit: "UnprovenRestart", retryAfterMs: 1, detail: "Waiting." },
      web: tripped,
    });
    expect({ status, reason }).toEqual({ status: "False", reason: "BreakerTripped" });
    expect(report({ web: tripped }).progressing).toBe(false);
    expect(message).toMatch(/^Pod web-a got .* Restart breaker tripped: why; what to do/);
    expect(stalled?.reason).toBe("BreakerTripped");
    expect(stalled?.message).toMatch(/^Pod web-a got .* Restart breaker tripped: why; what to do$/);
  });
});

it("writes the time of the last 401 once in half of the window, and when the number of rejected pods changes", async () => {
  const scene = new Scene({ evidence: ["Logs"] });
  const written: string[] = [];
  for (let second = 0; second < 900; second += 10) {
    scene.log(UNAUTHORIZED);
    const [target] = (await scene.pass()).lists?.targets ?? [];
    const shown = `${target?.rejectedPods} ${target?.lastUnauthorizedTime}`;
    if (shown !== written.at(-1)) written.push(shown);
    scene.object = { ...scene.object, status: { targets: target === undefined ? [] : [target] } };
    scene.clock.advance(10_000);
  }
  expect(written).toEqual(["0 2025-01-01T12:00:00Z", "1 2025-01-01T12:01:00Z", "1 2025-01-01T12:08:30Z"]);
});

describe("what recreated the ServiceAccount of rejected pods", () => {
  const HELM = { "helm.sh/hook": "pre-upgrade" };
  /** The life of the default token, of which the kubelet uses 80 %. */
  const REFRESHED_MS = 3_600_000;

  function recreate(scene: Scene, annotations: Record<string, string> = {}): void {
    const hook = recreatingHookOf(annotations);
    const account: ServiceAccountView = { ...scene.account("sa-2", 0), ...(hook && { hook }) };
    scene.accounts.set("web", account);
  }

  /** What status says after some minutes of 401s. */
  async function named(scene: Scene, afterMs = 0): Promise<string | undefined> {
    const log = () => {
      scene.log(UNAUTHORIZED);
    };
    let pass = await scene.passes(24, log);
    for (let ms = 0; ms < afterMs; ms += 60_000) {
      scene.clock.advance(60_000);
      log();
      pass = await scene.pass();
    }
    const [target] = pass.lists?.targets ?? [];
    expect(target?.rejectedPods).toBe(1);
    return target?.recreatedBy;
  }

  it.each([
    [HELM, "HelmHook"],
    [{ "argocd.argoproj.io/hook": "PreSync" }, "ArgoCDHook"],
    [{}, "Other"],
  ])("is named by its annotations %j: %s", async (annotations, expected) => {
    const scene = new Scene();
    recreate(scene, annotations);
    expect(await named(scene)).toBe(expected);
  });

  it("is not named if nothing did", async () => {
    expect(await named(new Scene())).toBeUndefined();
  });

  it("is still named after the kubelet has renewed the token, which the client does not read again", async () => {
    const scene = new Scene();
    recreate(scene, HELM);
    expect(await named(scene, REFRESHED_MS)).toBe("HelmHook");
    scene.failOver();
    expect(await named(scene)).toBe("HelmHook");
  });

  it("is not named for a pod whose signing key was replaced long after", async () => {
    const scene = new Scene();
    recreate(scene, HELM);
    scene.clock.advance(REFRESHED_MS);
    const nowMs = scene.clock.now().getTime();
    scene.rotation = { beforeMs: nowMs - 120_000, unchangedMs: nowMs - 120_000, changedMs: nowMs - 60_000 };
    expect(await named(scene)).toBeUndefined();
  });
});

describe("the gauges", () => {
  const sampled = (status: object, spec: object = {}) =>
    TOKEN_GAUGES.map(gauge => gauge.samples("kai/a", { spec, status } as StatusOwner));
  const labels = (workload: string) => ({ namespace: "kai", name: "a", workload });

  it("show how many restarts in a row did not help, whatever is open", () => {
    let minute = 0;
    const restart = (workload: string, outcome: string, cause = "Unknown") => ({
      ...{ workload, outcome, cause, pod: "p" },
      time: `2025-01-01T00:0${minute++}:00Z`,
    });
    const restarts = [
      restart("Deployment/web", "Ineffective"),
      restart("Deployment/web", "Recovered"),
      restart("Deployment/web", "Ineffective"),
      restart("Deployment/web", "Ineffective"),
      restart("Deployment/web", "Restarted"),
      restart("Deployment/app", "Ineffective"),
      restart("Deployment/app", "Recovered"),
      restart("DaemonSet/agent", "Ineffective", "TokenTooLong"),
    ];
    expect(sampled({ restarts })).toEqual([[], [{ labels: labels("Deployment/web"), value: 2 }]]);
    expect(sampled({ restarts }, { suspend: true })).toEqual([[], []]);
  });
});
