import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../../api/controller-resilience";
import type { PodView, WorkloadView } from "../../core/views";
import type { ObservedPod } from "./observed";
import { settleRestarts } from "./settle";
import { pod, workload } from "../../core/testing/views";
import { workloadId } from "../../core/text";
import { restartAt } from "../../restarts/testing/history";

const T = Date.parse("2025-01-01T12:00:00.400Z");
const MINUTE = 60_000;
const PROVEN = { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" } as const;

function entry(over: Partial<RestartStatus> = {}): RestartStatus {
  const newestPodTime = new Date(T - 1_000).toISOString();
  return restartAt(T, { pod: "web-a", podUID: "a", outcome: "Restarted", newestPodTime, ...over });
}

/** A pod without a 401, Ready a second after its creation. */
function healthy(createdAtMs: number, over: Partial<PodView> = {}): ObservedPod {
  const view = pod({ uid: "b", name: "web-b", createdAtMs, readySinceMs: createdAtMs + 1_000, ...over });
  const logs = { state: "quiet", occasions: 0 } as const;
  const firstLineMs = createdAtMs + 1_000;
  return { view, logs, serviceAccount: "present", readMs: Infinity, firstLineMs, unreadable: false };
}

function outcomes(restart: RestartStatus, pods: ObservedPod[], afterMs: number, over: Partial<WorkloadView> = {}) {
  const view = workload(over);
  const settled = settleRestarts([{ ...restart, workload: workloadId(view) }], [{ view, pods }], T + afterMs);
  return settled.map(({ outcome }) => outcome);
}

describe("an eviction", () => {
  it.each([-2, 5])("recognizes its successor by the API server's clock, with its own %d minutes off", minutes => {
    const at = (ms: number): string => new Date(ms).toISOString();
    const restart = entry({ time: at(T + minutes * MINUTE), newestPodTime: at(T - MINUTE) });
    expect(outcomes(restart, [healthy(T)], 100_000 + 5 * MINUTE)).toEqual(["Recovered"]);
  });

  it("is not Recovered before the successor has logged something, and for the quiet time after that", () => {
    const { firstLineMs, ...silent } = healthy(T);
    expect(firstLineMs).toBeDefined();
    expect(outcomes(entry(), [silent], 90_000)).toEqual(["Restarted"]);
    expect(outcomes(entry(), [silent], 91_000)).toEqual(["Replaced"]);
    const late = { ...silent, firstLineMs: T + 60_000 };
    expect(outcomes(entry(), [late], 149_999)).toEqual(["Restarted"]);
    expect(outcomes(entry(), [late], 150_000)).toEqual(["Recovered"]);
    expect(outcomes(entry(PROVEN), [late], 89_999)).toEqual(["Restarted"]);
    expect(outcomes(entry(PROVEN), [late], 90_000)).toEqual(["Recovered"]);
  });

  it("has no effect before its successor was created, as a node's clock that is behind seems to show", () => {
    const ready = healthy(T, { readySinceMs: T - 53_000 });
    const { firstLineMs, ...silent } = { ...ready, firstLineMs: T - 53_000 };
    const quiet = { fromMs: firstLineMs, untilMs: firstLineMs + 8_000 };
    for (const [restart, successor, afterMs, outcome] of [
      [entry(), { ...silent, firstLineMs }, 90_000, "Recovered"],
      [entry(), silent, 90_000, "Replaced"],
      [entry(PROVEN), { ...silent, firstLineMs, quiet }, 10_000, "Recovered"],
    ] as const) {
      expect(outcomes(restart, [successor], afterMs - 1)).toEqual(["Restarted"]);
      expect(outcomes(restart, [successor], afterMs)).toEqual([outcome]);
    }
  });

  it.each<[string, object, number, string]>([
    ["for ten seconds after it is Ready", { fromMs: T, untilMs: T + 8_000 }, 10_999, "Restarted"],
    ["and is Recovered then", { fromMs: T, untilMs: T + 8_000 }, 11_000, "Recovered"],
    ["and has logged for less than five of them", { fromMs: T, untilMs: T + 5_999 }, 20_000, "Restarted"],
    ["and got its last 401 less than five ago", { fromMs: T + 4_000, untilMs: T + 8_999 }, 20_000, "Restarted"],
  ])("of a pod older than its ServiceAccount watches a successor with a new token %s", (_, quiet, afterMs, outcome) => {
    const works = { ...healthy(T), quiet: quiet as NonNullable<ObservedPod["quiet"]> };
    expect(outcomes(entry(PROVEN), [works], afterMs)).toEqual([outcome]);
    if (outcome === "Recovered") expect(outcomes(entry(), [works], afterMs)).toEqual(["Restarted"]);
  });

  it("is Replaced after two minutes if the workload has all its pods without a successor", () => {
    const older = healthy(T - MINUTE);
    expect(outcomes(entry(), [older], 2 * MINUTE - 1)).toEqual(["Restarted"]);
    expect(outcomes(entry(), [older], 2 * MINUTE)).toEqual(["Replaced"]);
    expect(outcomes(entry(), [older], 2 * MINUTE, { replicas: 2 })).toEqual(["Restarted"]);
    const rejected = { ...older, logs: { state: "persistent", occasions: 9, firstMs: T, lastMs: T } } as const;
    expect(outcomes(entry(), [rejected], 2 * MINUTE)).toEqual(["Restarted"]);
  });

  it.each<[string, readonly ObservedPod[], Partial<WorkloadView>]>([
    ["still ends", [healthy(T - MINUTE, { uid: "a", deletedAtMs: T + 15 * MINUTE })], {}],
    ["is of a workload with a long grace period", [], { graceMs: 15 * MINUTE }],
  ])("has ten minutes from the end of the grace period on if its pod %s", (_, pods, over) => {
    const all = [...pods, { ...healthy(T), unreadable: true }];
    expect(outcomes(entry(), all, 25 * MINUTE - 1, over)).toEqual(["Restarted"]);
    expect(outcomes(entry(), all, 25 * MINUTE, over)).toEqual(["Replaced"]);
  });

  it.each<[string, string, ObservedPod[], Partial<RestartStatus>]>([
    ["none was created", "Deployment", [], {}],
    ["none was created on its node", "DaemonSet", [healthy(T, { nodeName: "b" })], { nodeName: "a" }],
    ["only another pod was created since", "StatefulSet", [healthy(T, { name: "web-0" })], { pod: "web-1" }],
  ])("has not been tried without a successor, where the workload lacks a pod: %s", (_, kind, pods, over) => {
    const view = { kind, replicas: 2 } as Partial<WorkloadView>;
    expect(outcomes(entry(over), pods, 300 * MINUTE, view)).toEqual(["Restarted"]);
    const siblings = [...pods, healthy(T - MINUTE, { uid: "c" }), healthy(T - MINUTE, { uid: "d" })];
    expect(outcomes(entry(over), siblings, 300 * MINUTE, view)).toEqual(["Replaced"]);
  });

  it("has not been tried where a successor was created for another one alone", () => {
    const view = workload({ replicas: 3 });
    const two = ["a", "c"].map(podUID => entry({ ...PROVEN, podUID, workload: workloadId(view) }));
    const pods = [healthy(T - MINUTE, { uid: "d" }), healthy(T)];
    const settled = settleRestarts(two, [{ view, pods }], T + 30 * MINUTE);
    expect(settled.map(({ outcome }) => outcome)).toEqual(["Recovered", "Restarted"]);
  });

  it("is Replaced once the node of its DaemonSet is gone, also while a pod of another node cannot end", () => {
    const ending = healthy(T - MINUTE, { uid: "c", nodeName: "c", deletedAtMs: T - 60 * MINUTE });
    const pods = [healthy(T - MINUTE, { nodeName: "b" }), ending];
    const of = (replicas: number): string[] =>
      outcomes(entry({ nodeName: "a" }), pods, 2 * MINUTE, { kind: "DaemonSet", replicas });
    expect([of(3), of(2)]).toEqual([["Restarted"], ["Replaced"]]);
  });

  const again = (createdAtMs: number): ObservedPod => ({
    ...healthy(createdAtMs),
    logs: { state: "persistent", occasions: 9, firstMs: createdAtMs, lastMs: createdAtMs },
  });

  const helped = entry({ outcome: "Recovered" });

  /** The pod that is rejected, and when, in minutes. */
  it.each<[string, string, RestartStatus, [ObservedPod, number]]>([
    ["did not help when its successor is rejected within the window", "Ineffective", helped, [again(T + 1_000), 59]],
    ["stays Recovered when its successor is rejected later", "Recovered", helped, [again(T + 1_000), 61]],
    ["stays Recovered when an older pod is rejected", "Recovered", helped, [again(T - MINUTE), 30]],
    ["stays Recovered when its cause was proven", "Recovered", { ...helped, ...PROVEN }, [again(T + 1_000), 30]],
  ])("that had helped %s", (_, outcome, restart, [rejected, minutes]) => {
    expect(outcomes(restart, [rejected], minutes * MINUTE)).toEqual([outcome]);
  });

  const proof = { ...PROVEN, sinceMs: T, alone: true } as const;
  const later = { ...proof, serviceAccountUID: "sa-3" };

  it.each<[string, Partial<RestartStatus>, ObservedPod["proof"], string]>([
    ["is Ineffective once its successor is rejected, too", {}, undefined, "Ineffective"],
    ["is Ineffective once it is, although the cause was proven", PROVEN, undefined, "Ineffective"],
    ["is Ineffective if the same proof is there again", PROVEN, proof, "Ineffective"],
    ["has helped if a later incident rejects its successor", PROVEN, later, "Recovered"],
    ["has not helped for certain if another incident rejects its successor", {}, proof, "Restarted"],
  ])("that is open %s", (_, over, found, outcome) => {
    const rejected = { ...again(T + 1_000), ...(found && { proof: found }) };
    expect(outcomes(entry(over), [rejected], MINUTE)).toEqual([outcome]);
    if (outcome === "Restarted") expect(outcomes(entry(over), [rejected], 11 * MINUTE)).toEqual(["Replaced"]);
  });

  it("is judged without Events about sandboxes, which any client can write, if they were not its reason", () => {
    const sandboxes = { state: "persistent", occasions: 9, firstMs: T + 2_000, lastMs: T + 80_000 } as const;
    expect(outcomes(entry(), [{ ...healthy(T), sandboxes }], 100_000)).toEqual(["Recovered"]);
  });

  it("waits for the successor on its own node in a DaemonSet", () => {
    const restart = entry({ nodeName: "n1", workload: "DaemonSet/web" });
    const view = { kind: "DaemonSet", replicas: 2 } as const;
    const on = (nodeName: string): ObservedPod[] => [healthy(T + 1_000, { nodeName })];
    expect(outcomes(restart, on("n2"), 9 * MINUTE, view)).toEqual(["Restarted"]);
    expect(outcomes(restart, on("n1"), 9 * MINUTE, view)).toEqual(["Recovered"]);
    const other = healthy(T - MINUTE, { nodeName: "n2" });
    const pending = healthy(T + 1_000, { ready: false });
    expect(outcomes(restart, [other, pending], 40 * MINUTE, view)).toEqual(["Restarted"]);
  });

  it.each(["Unknown", "CniCredentialRejected"] as const)("of %s failed on no node that is gone", cause => {
    const restart = entry({ cause, nodeName: "n1", workload: "DaemonSet/web" });
    const rejections = { state: "persistent", occasions: 9, firstMs: T - MINUTE, lastMs: T + MINUTE } as const;
    const other = { ...healthy(T - MINUTE, { nodeName: "n2" }), logs: rejections, sandboxes: rejections };
    expect(outcomes(restart, [other], 3 * MINUTE, { kind: "DaemonSet", replicas: 2 })).toEqual(["Restarted"]);
    expect(outcomes(restart, [other], 3 * MINUTE, { kind: "DaemonSet", replicas: 1 })).toEqual(["Replaced"]);
  });

  it("is not Recovered while the log of its successor cannot be read, unless the ServiceAccount was recreated", () => {
    const unreadable = { ...healthy(T + 1_000), unreadable: true };
    expect(outcomes(entry(), [unreadable], 10 * MINUTE - 1)).toEqual(["Restarted"]);
    expect(outcomes(entry(), [unreadable], 10 * MINUTE)).toEqual(["Replaced"]);
    expect(outcomes(entry(PROVEN), [unreadable], MINUTE)).toEqual(["Recovered"]);
  });

  it.each<[string, Partial<RestartStatus>, string]>([
    ["without proof did not help", {}, "Ineffective"],
    ["with proof is not known to have helped", PROVEN, "Replaced"],
  ])("%s where its Ready successor gets a 401 now and then, ten minutes later", (_, over, outcome) => {
    const lastMs = T + 8 * MINUTE;
    const logs = { state: "suspected", occasions: 1, firstMs: lastMs, lastMs } as const;
    const successor = { ...healthy(T), logs };
    expect(outcomes(entry(over), [successor], 10 * MINUTE + 999)).toEqual(["Restarted"]);
    expect(outcomes(entry(over), [successor], 10 * MINUTE + 1_000)).toEqual([outcome]);
    for (const readMs of [T, T + 10 * MINUTE])
      expect(outcomes(entry(over), [{ ...successor, readMs }], 60 * MINUTE)).toEqual(["Restarted"]);
  });

  it("of a CNI agent is open until a successor that was late to get Ready has had its time", () => {
    const cni = entry({ cause: "CniCredentialRejected", nodeName: "n1", workload: "DaemonSet/web" });
    const sandboxes = { state: "quiet", occasions: 0 } as const;
    const late = { ...healthy(T, { nodeName: "n1", readySinceMs: T + 9 * MINUTE }), sandboxes };
    const of = (afterMs: number): string[] => outcomes(cni, [late], afterMs, { kind: "DaemonSet" });
    expect([of(10 * MINUTE), of(10.5 * MINUTE)]).toEqual([["Restarted"], ["Recovered"]]);
  });

  it("stays open while its successor is not Ready, also if its log cannot be read", () => {
    const down = healthy(T + 1_000, { ready: false });
    expect(outcomes(entry(), [down], 60 * MINUTE)).toEqual(["Restarted"]);
    expect(outcomes(entry(), [{ ...down, unreadable: true }], 60 * MINUTE)).toEqual(["Restarted"]);
  });
});
