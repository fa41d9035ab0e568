import { describe, expect, it } from "vitest";
import { pod, workload } from "../../../core/testing/views";
import { createAccount, oldTokens, restartPod } from "./checks";
import type { AuditFacts } from "./facts";

describe("the restart of a pod", () => {
  const own = { namespace: "shop", name: "db-0", labels: { revision: "old" } };
  const owned = pod({ ...own, owner: { kind: "StatefulSet", name: "db", uid: "db" } });
  const rollout = { strategy: "OnDelete", isComplete: false, isInProgress: false };
  const workloads = [workload({ uid: "db", rollout })];
  const remove = "kubectl delete pod db-0 -n shop";

  it("is its deletion", () => {
    expect(restartPod(owned, { nowMs: 0 }, "If it is late,")).toEqual({
      wayOut: "If it is late, restart the pod, or let tokenRestart do it:",
      command: remove,
    });
  });

  it("that no controller replaces begins with its manifest, so that it can come back", () => {
    const command = "kubectl get pod db-0 -n shop -o yaml";
    const bare = pod(own);
    delete (bare as { owner?: object }).owner;
    const anew = "create the pod anew, since no controller replaces it. Save its manifest first:";
    expect(restartPod(bare, { nowMs: 0 })).toEqual({ wayOut: `C${anew.slice(1)}`, command });
    expect(createAccount(bare, { nowMs: 0 })).toEqual({ wayOut: `Create the ServiceAccount, then ${anew}`, command });
  });

  it("whose owner may take its deletion for a failure, and which tokenRestart leaves alone, is that owner's", () => {
    expect(restartPod({ ...owned, owner: { kind: "Job", name: "backup", uid: "j" } }, { nowMs: 0 })).toEqual({
      wayOut: "Let Job backup replace the pod, to which a deleted one may count as failed. Look at it first:",
      command: "kubectl describe pod db-0 -n shop",
    });
  });

  it("that comes back as another version waits for a person, as the operator does", () => {
    const wayOut = "Once it may be upgraded (update strategy OnDelete), restart the pod:";
    expect(restartPod(owned, { nowMs: 0, workloads })).toEqual({ wayOut, command: remove });
    const current = [workload({ uid: "db", rollout: { ...rollout, currentLabel: { key: "revision", value: "old" } } })];
    expect(restartPod(owned, { nowMs: 0, workloads: current }).wayOut).toContain("or let tokenRestart do it");
  });

  it.each([
    ["that no node has yet", { phase: "Pending" }],
    ["whose volumes waited for the new ServiceAccount", { nodeName: "n", volumesReadyMs: 20_000 }],
  ])("is no advice for one %s", (_, over) => {
    const accounts = [{ namespace: "team", name: "web", uid: "s", createdAtMs: 10_000 }];
    const pods = [pod({ createdAtMs: 0, containers: [], ...over })];
    expect(oldTokens({ accounts, pods, nowMs: 60_000 } as unknown as AuditFacts)).toEqual([]);
  });
});
