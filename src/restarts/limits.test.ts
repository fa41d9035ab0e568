import { describe, expect, it } from "vitest";
import { Cause } from "../api/conditions";
import type { RestartStatus } from "../api/controller-resilience";
import type { RestartClaim } from "../core/intent";
import type { PendingRestart } from "../core/remedy";
import { pod, workload as viewOf } from "../core/testing/views";
import type { PodView, RolloutView, WorkloadView } from "../core/views";
import { checkRestartBudget } from "./history";
import { barOf, isExhausted, limitOf, type LimitedWorkload, RolloutWaits, waitOf, withPatience } from "./limits";
import { restartAt } from "./testing/history";

const HOUR = 3_600_000;
const MINUTE = 60_000;
const NOW = new Date("2025-01-01T12:00:00Z");
const ago = (minutes: number): number => NOW.getTime() - minutes * MINUTE;

/** A pod that has been Ready for two hours. */
function podOf(name: string, over: Partial<PodView> = {}): PodView {
  return pod({ name, uid: `uid-${name}`, createdAtMs: ago(120), readySinceMs: ago(120), ...over });
}

/** An executed restart of another pod of the workload. */
function restart(minutesAgo: number, over: Partial<RestartStatus> = {}): RestartStatus {
  return restartAt(ago(minutesAgo), { workload: "Deployment/web", pod: "old", outcome: "Restarted", ...over });
}

/** The claim of a pod that is older than every restart. */
function claimOf({ name, uid, createdAtMs }: PodView, over: Partial<RestartClaim> = {}): RestartClaim {
  return {
    ...{ workload: "Deployment/web", pod: name, podUID: uid, podCreatedAtMs: createdAtMs, newestPodMs: createdAtMs },
    ...{ cause: Cause.SigningKeyRotated, limits: { cooldownMs: 10 * MINUTE, maxRestarts: 3 } },
    ...over,
  };
}

type Pods = readonly (Partial<PodView> & { readonly isDead?: boolean })[];
type Over = Partial<Omit<LimitedWorkload, "view" | "pods">> & { readonly view?: Partial<WorkloadView> };

/** What the restart of the last of these pods waits for. */
function waitFor(pods: Pods, { view, ...over }: Over = {}, claim: Partial<RestartClaim> = {}): string | undefined {
  const all = pods.map(({ isDead = false, ...pod }, i) => ({ view: podOf(`web-${i}`, pod), isDead }));
  const workload = { view: viewOf({ replicas: pods.length, ...view }), pods: all, history: [], maxUnavailable: 1 };
  const last = all.at(-1)!.view;
  return limitOf(last, claimOf(last, claim), { ...workload, pending: [], now: NOW, ...over })?.wait;
}

const until = (what: string, most = 1): string => `waiting until ${what} (maxUnavailable ${most})`;
const successorOf = (pod: string): string => until(`the successor of pod ${pod} is healthy`);
const [FIRST, ALL] = [until("pod web-0 is Ready"), until("all pods exist")];
const FIRST_OF_TWO = until("pod web-0 is Ready", 2);
const UNANSWERED = "the request to evict pod web-0 has got no clear answer yet";
const down = { ready: false, readySinceMs: ago(5) };
const cutOff = { ...down, nodeUnreachable: true };
const lost = { deletedAtMs: ago(1), nodeUnreachable: true };
const ending = { deletedAtMs: ago(3) };
const dead = { isDead: true };
const set: Over = { view: { kind: "DaemonSet" } };
const stateful = { view: { kind: "StatefulSet" } } as const;
const forLong = { ready: false, readySinceMs: ago(61) };
const SIBLING = { cause: Cause.SigningKeyRotated, newestPodTime: new Date(ago(6)).toISOString() };
const isOpen = (pod: string): Over => ({
  history: [restart(5, { pod, ...SIBLING })],
  view: { kind: "StatefulSet", replicas: 3 },
});
const isNew = { key: "generation", value: "2" };
const stuck: Over = { rolloutSinceMs: ago(20), view: { kind: "DaemonSet", rollout: rolling({ currentLabel: isNew }) } };

function rolling(over: Partial<RolloutView> = {}): RolloutView {
  return { strategy: "RollingUpdate", isComplete: false, isInProgress: true, ...over };
}

it.each<[RestartClaim["cause"], string]>([
  [Cause.Unknown, "its requests get 401 responses"],
  [Cause.CniCredentialRejected, "the CNI credential on its node gets 401 responses"],
])("restarts in vain for the cause %s say what to look for", (cause, trouble) => {
  const history = [300, 200].map(minutes => restart(minutes, { cause, outcome: "Ineffective" }));
  expect(waitFor([{}], { history }, { cause })).toContain(`restarts did not help; find out why ${trouble}.`);
});

describe("maxUnavailable", () => {
  const ofTwo = { maxUnavailable: 2 };
  const oneCounted = { ...ofTwo, view: { readyReplicas: 1 } };
  const unsettled = { history: [restart(20)] };
  const requested = restart(2, { podUID: "uid-web-0", outcome: "Requested" });
  const inVain = {
    history: [restart(62, { outcome: "Ineffective", newestPodTime: new Date(ago(119)).toISOString() })],
  };
  const changed = (over: Partial<RestartStatus>) => ({ history: inVain.history.map(entry => ({ ...entry, ...over })) });
  const [helped, lapsed] = [changed({ outcome: "Recovered" }), changed({ time: new Date(ago(24 * 60)).toISOString() })];
  const successor = { ...forLong, createdAtMs: ago(62) };
  const dayOld = (minutes: number) =>
    changed({ time: new Date(ago(24 * 60 - minutes)).toISOString(), outcome: "Restarted" });
  const evicted = {
    history: [restart(11, { pod: "web-0", podUID: "uid-web-0" })],
    view: { kind: "DaemonSet" },
  } as const;
  const settled = (nodeName?: string) => [
    { ...evicted.history[0]!, outcome: "Recovered" as const, ...(nodeName && { nodeName }) },
  ];
  const onNode = { ...set, history: [restart(5, { ...SIBLING, nodeName: "n" })] };
  const heir = { createdAtMs: ago(5), nodeName: "n" };
  const ofGeneration = (generation: string) => ({ ...forLong, labels: { generation } });
  const added = { rolloutSinceMs: ago(20), view: { replicas: 2, rollout: rolling() } };

  it.each<[string, string | undefined, Pods, Over?]>([
    ["allows the restart of one of several Ready pods", undefined, [{}, {}]],
    ["counts a pod that is not Ready", FIRST, [down, {}, {}]],
    ["allows as many as it says", undefined, [down, {}, {}], ofTwo],
    ["spares the last Ready pod whatever it allows", FIRST_OF_TWO, [down, {}], ofTwo],
    ["spares it where its sibling is missing", until("all pods exist", 2), [{}], { ...ofTwo, view: { replicas: 2 } }],
    ["does not, if all are dead", undefined, [dead, dead], { view: { readyReplicas: 1 } }],
    ["allows another beside it", undefined, [{}, {}, {}], { ...ofTwo, view: { readyReplicas: 2 } }],
    ["spares the last one that its controller counts", until("all pods are Ready", 2), [{}, {}], oneCounted],
    ["does not count a pod that has not been Ready for an hour while others are", undefined, [forLong, {}, {}]],
    ["counts it however long if it may be the successor of a restart", FIRST, [successor, {}, {}], inVain],
    ["does so also if another pod made that helpful", FIRST, [successor, {}, {}], helped],
    ["does not, once that is a day old", undefined, [successor, {}, {}], lapsed],
    ["counts it while no other pod is Ready", FIRST, [forLong, {}]],
    ["counts it in a StatefulSet, which creates no successor behind it", FIRST, [forLong, {}, {}], stateful],
    ["allows the restart of a pod that is not Ready itself", undefined, [down, down, down]],
    ["protects no workload whose pods are all proven to be dead", undefined, [{ ...down, ...dead }, dead]],
    ["does not count a pod of a node that does not answer", undefined, [cutOff, {}, {}]],
    ["counts a replica that was never created", ALL, [{}, {}], { view: { replicas: 3 } }],
    ["counts a pod that terminates, such as for a drain", ALL, [{ deletedAtMs: ago(-10) }, {}, {}]],
    ["does not count one of a DaemonSet that terminates on such a node", undefined, [lost, {}, {}], set],
    ["does not count one that does not terminate for three minutes", undefined, [ending, {}, {}], set],
    ["spares the last one of a Deployment that cannot replace the one on such a node", ALL, [lost, {}]],
    ["does not count it once it is replaced", undefined, [lost, {}, {}], { view: { replicas: 2 } }],
    ["counts each of them in a StatefulSet, which creates no successor behind them", FIRST, [cutOff, {}, {}], stateful],
    ["spares the last Ready one of it, whatever it allows", FIRST_OF_TWO, [cutOff, {}], { ...ofTwo, ...stateful }],
    ["counts one that does not terminate in a StatefulSet", ALL, [{ ...lost, ...ending }, {}, {}], stateful],
    ["counts a restarted pod until its restart has an outcome", successorOf("old"), [{}, {}], unsettled],
    ["does so for a day", undefined, [{}, {}], { history: [restart(24 * 60)] }],
    [
      "counts its successor as long, which may need another one",
      successorOf("old"),
      [successor, dead, dead],
      dayOld(1),
    ],
    ["restarts another one then", undefined, [successor, dead, dead], dayOld(0)],
    ["counts one that does not terminate", successorOf("web-0"), [ending, {}, {}], evicted],
    [
      "does not, once another has its place",
      undefined,
      [ending, {}, {}, {}],
      { history: settled(), view: { replicas: 3 } },
    ],
    [
      "counts one on its node although another pod has helped",
      successorOf("web-0"),
      [ending, {}, {}],
      { ...set, history: settled("n") },
    ],
    [
      "does not count one whose successor is on a node that does not answer",
      undefined,
      [{ ...cutOff, ...heir }, {}, {}],
      onNode,
    ],
    ["does not if it does not terminate there", undefined, [{ ...lost, ...ending, ...heir }, {}, {}], onNode],
    ["counts one that terminates on a node that does not answer", successorOf("web-0"), [lost, {}, {}], evicted],
    [
      "does not count one that does not terminate there",
      undefined,
      [{ ...ending, nodeUnreachable: true }, {}, {}],
      evicted,
    ],
    ["comes after the answer to its own eviction", UNANSWERED, [{}], { history: [requested] }],
    ["counts no pod of a higher number that a StatefulSet creates behind it", undefined, [{}, down], isOpen("web-2")],
    ["counts it while this one is Ready", successorOf("web-2"), [{}, {}], isOpen("web-2")],
    ["counts one of a lower number", successorOf("web-0"), [{}, down], isOpen("web-0")],
    ["counts new pods of a DaemonSet whose rollout is stuck", FIRST, [ofGeneration("2"), {}, {}], stuck],
    ["does not count an old one of it", undefined, [ofGeneration("1"), {}, {}], stuck],
    [
      "counts a pod that is not Ready while more exist than are desired",
      FIRST,
      [down, {}, {}],
      { view: { replicas: 2 } },
    ],
    ["does not count what a stuck rollout of a Deployment has added", undefined, [down, {}, {}], added],
  ])("%s", (_, expected, pods, over) => expect(waitFor(pods, over)).toBe(expected));

  it("counts an open restart however long before one without proof", () => {
    expect(waitFor([successor, {}, {}], dayOld(0), { cause: Cause.Unknown })).toBe(successorOf("old"));
    expect(waitFor([successor, {}, {}], lapsed, { cause: Cause.Unknown })).toBeUndefined();
  });
});

describe("a grace period", () => {
  it.each<[number, RestartClaim["cause"], string | undefined]>([
    [20, Cause.Unknown, undefined],
    [20.1, Cause.SigningKeyRotated, undefined],
    [20.1, Cause.LeaseNotRenewed, expect.stringContaining("until terminationGracePeriodSeconds is 1200 or") as string],
  ])("of %d minutes and the cause %s", (minutes, cause, expected) => {
    expect(waitFor([{}, {}], { view: { graceMs: minutes * MINUTE } }, { cause })).toEqual(expected);
  });
});

describe("a rollout in progress", () => {
  it.each<[number, number | undefined, number]>([
    [9.9, undefined, 10],
    [1.9, 2, 2],
    [14.9, 60, 15],
  ])("holds a restart back after %d minutes, with a deadline of %s, and not after %d", (waits, deadline, most) => {
    const rollout = rolling(deadline === undefined ? {} : { progressDeadlineMs: deadline * MINUTE });
    const after = (minutes: number) => waitFor([{}, {}], { rolloutSinceMs: ago(minutes), view: { rollout } });
    expect(after(waits)).toMatch(/^waiting for the rollout in progress, until 2025-01-01T12:00:06Z at the latest$/);
    expect(after(most)).toBeUndefined();
  });

  it("is no longer than that after the clock was set back", () => {
    const waits = new RolloutWaits();
    const seen = (seconds: number) =>
      waits.mark([{ view: viewOf({ rollout: rolling() }) }], () => true, seconds * 1000)[0]?.rolloutSinceMs;
    expect([seen(7_200), seen(60), seen(61)]).toEqual([7_200_000, 60_000, 60_000]);
  });

  it("is timed from when it and a restart were first seen together, whatever later passes find, until it is over", () => {
    const waits = new RolloutWaits();
    const seen = (seconds: number, isDue = true, rollout = rolling()) =>
      waits.mark([{ view: viewOf({ rollout }) }], () => isDue, seconds * 1000)[0]?.rolloutSinceMs;
    expect([seen(1, false), seen(2), seen(63, false), seen(64)]).toEqual([undefined, 2_000, 2_000, 2_000]);
    waits.mark([], () => true, 171_000);
    expect([seen(172), seen(173, true, rolling({ isInProgress: false })), seen(174)]).toEqual([
      172_000,
      undefined,
      174_000,
    ]);
  });
});

describe("a pod is never restarted", () => {
  const onDelete = (over: Partial<RolloutView> = {}) => rolling({ strategy: "OnDelete", isInProgress: false, ...over });
  const [old, present] = ["1", "2"].map(generation => ({ labels: { generation } })) as [object, object];
  const upgrade = { why: expect.stringContaining("a restart would upgrade it") as string };

  it.each<[string, object | undefined, Partial<PodView>, Partial<WorkloadView>]>([
    ["with the skip annotation", { isWanted: true }, { skip: true }, {}],
    ["of a workload with the skip annotation", { isWanted: true }, {}, { skip: true }],
    ["of the operator", { why: expect.stringContaining("operator's own pods") as string }, { name: "operator" }, {}],
    ["that OnDelete would upgrade", upgrade, old, { rollout: onDelete({ currentLabel: isNew }) }],
    ["that OnDelete may upgrade", upgrade, old, { rollout: onDelete() }],
    ["but one of the present template", undefined, present, { rollout: onDelete({ currentLabel: isNew }) }],
    ["but one of a workload that is up to date", undefined, old, { rollout: onDelete({ isComplete: true }) }],
  ])("%s", (_, expected, pod, workload) => {
    const bar = barOf({ view: podOf("web-0", pod), isOperator: pod.name === "operator" }, viewOf(workload));
    if (expected === undefined) expect(bar).toBeUndefined();
    else expect(bar).toMatchObject(expected);
  });
});

describe("the budget", () => {
  const newestPodTime = new Date(ago(60)).toISOString();
  const recovering = "waiting for the restart of pod old to recover, at most until";
  const recovered = restart(5, { newestPodTime, outcome: "Recovered" });
  const once = { limits: { cooldownMs: 0, maxRestarts: 1 } };

  it.each<[string, RestartStatus, Partial<RestartClaim>]>([
    ["no restart before 2025-01-01T12:05:00Z (cooldown)", recovered, { podCreatedAtMs: ago(0) }],
    [`${recovering} 2025-01-01T12:05:00Z (cooldown)`, restart(5, { newestPodTime }), {}],
    [`${recovering} 2025-01-01T12:45:00Z (maxRestarts)`, restart(15, { newestPodTime }), once],
  ])("says: %s", (expected, entry, claim) => {
    const over = { history: [entry], maxUnavailable: 3 };
    expect(waitFor([{}, {}, {}], over, { cause: Cause.Unknown, ...claim })).toBe(expected);
  });
});

describe("restarts in vain", () => {
  /** Restarts that do not help, each as soon as the budget allows it, in a month. */
  function restartsInVain(cooldownMs: number, maxRestarts: number, cause: Cause): number {
    const history: RestartStatus[] = [];
    for (let hour = 0; hour < 24 * 30; hour++) {
      const now = new Date(hour * HOUR);
      const pod = { workload: "Deployment/web", pod: `web-${hour}`, podUID: `uid-${hour}`, cause };
      const claim = { ...pod, newestPodMs: 0, limits: { cooldownMs, maxRestarts } };
      if (isExhausted(claim, history, now)) break;
      if (checkRestartBudget(history, claim, now) === undefined)
        history.push({ ...pod, time: now.toISOString(), outcome: "Ineffective" });
    }
    return history.length;
  }

  it.each([
    [HOUR / 6, 3, Cause.SigningKeyRotated, 3],
    [HOUR, 6, Cause.SigningKeyRotated, 6],
    [HOUR / 6, 20, Cause.SigningKeyRotated, 20],
    [12 * HOUR, 3, Cause.Unknown, 2],
  ] as const)("end, with cooldown %d ms", (cooldownMs, maxRestarts, cause, most) => {
    expect(restartsInVain(cooldownMs, maxRestarts, cause)).toBe(most);
  });

  const vain = (minutesAgo: number, over: Partial<RestartStatus> = {}) =>
    restart(minutesAgo, { outcome: "Ineffective", ...over });

  it.each<[string, boolean, readonly RestartStatus[]]>([
    ["two without proof", true, [vain(110), vain(50)]],
    ["two, of which one is a day old", false, [vain(24 * 60), vain(50)]],
    ["two with one between them that seemed to help", true, [vain(110), vain(80, { outcome: "Recovered" }), vain(50)]],
    ["one, and one of which nothing is known", false, [vain(110), restart(50, { outcome: "Replaced" })]],
    ["two of another cause", false, [vain(110), vain(50)].map(one => ({ ...one, cause: Cause.LeaseNotRenewed }))],
  ])("are enough: %s", (_, expected, history) => {
    expect(isExhausted(claimOf(podOf("web-0"), { cause: Cause.Unknown }), history, NOW)).toBe(expected);
  });
});

describe("a wait", () => {
  const begun = { waitStartTime: new Date(ago(59.9)).toISOString() };
  const waiting = { wayOut: "ask", isProgressing: true };
  const none = { history: [], now: NOW };

  const ahead = new Date(ago(-180)).toISOString();
  const since = begun.waitStartTime;
  const after = (outcome: RestartStatus["outcome"]) => ({ ...none, history: [restart(30, { outcome })] });
  const anew = { waitStartTime: "2025-01-01T12:00:00Z" };
  const going = { isProgressing: true };

  it.each<[string, object, Parameters<typeof waitOf>]>([
    ["begins with what may never end", anew, [waiting, undefined, none]],
    ["goes on", begun, [waiting, since, none]],
    ["goes on while something else holds the restart back", begun, [going, since, none]],
    ["begins anew if a clock that was ahead has stamped it", anew, [waiting, ahead, none]],
    ["does not begin with what ends by itself", {}, [going, undefined, none]],
    ["ends where nothing is done", {}, [{}, since, none]],
    ["ends with a restart", anew, [waiting, since, after("Restarted")]],
    ["does not end with a request", begun, [waiting, since, after("Requested")]],
  ])("%s", (_, expected, args) => expect(waitOf(...args)).toEqual(expected));

  it("needs a person after an hour, with the way out", () => {
    const finding = { sentence: "It waits." };
    const waitStartTime = new Date(ago(60)).toISOString();
    expect(withPatience(finding, "ask", begun, NOW)).toBe(finding);
    expect(withPatience(finding, undefined, { waitStartTime }, NOW)).toBe(finding);
    const sentence = "It waits. Waiting since 2025-01-01T11:00:00Z: ask.";
    expect(withPatience(finding, "ask", { waitStartTime }, NOW)).toEqual({
      sentence,
      isStalled: true,
      isProgressing: false,
    });
  });
});

it("an eviction that the API server refused waits for the next try, and names the budget", () => {
  const pod = podOf("web-0");
  const message = "Cannot evict pod. The disruption budget web-pdb needs 1 healthy pods and has 1 currently";
  const outcome = { result: "Blocked", message, retryAfterMs: 1 } as const;
  const untilMs = NOW.getTime() + 20_000;
  const pending: PendingRestart[] = [{ restart: claimOf(pod), outcome, untilMs }];
  const workload = { view: viewOf(), pods: [{ view: pod }], history: [], maxUnavailable: 1, pending, now: NOW };
  expect(limitOf(pod, claimOf(pod), workload)).toMatchObject({
    wait: "PodDisruptionBudget web-pdb does not allow the eviction of pod web-0, next try at 2025-01-01T12:00:20Z",
    reason: "RestartBlocked",
    retryAfterMs: 20_000,
  });
  const over = { ...workload, now: new Date(untilMs) };
  expect(limitOf(pod, claimOf(pod), over)).toBeUndefined();
  const failed = pending.map(one => ({ ...one, outcome: { result: "Failed", message: "timeout" } as const }));
  expect(limitOf(pod, claimOf(pod), { ...workload, pending: failed })).toBeUndefined();
});
