import { describe, expect, it } from "vitest";
import type { LogClass } from "./classes";
import { classify } from "./classify";

// Records that public threads report as innocent or as another class, written after these programs' structure.

const RECORDS: Readonly<Record<string, readonly [LogClass, ...string[]]>> = {
  "a network plugin's failure, reported by dockershim or CRI-O": [
    "none",
    `networkPlugin cni failed to set up pod "web-1_shop" network: error getting ClusterInformation: connection is unauthorized: Unauthorized`,
    `NetworkPlugin cni failed to teardown pod "web-1_shop" network: error getting ClusterInformation: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 cni.go:387] "Error deleting pod from network" err="error getting ClusterInformation: connection is unauthorized: Unauthorized" pod="shop/web-1"`,
    `E1104 07:21:09.114233    1204 cni.go:331] Error adding shop_web-1/8f2d to network calico/k8s-pod-network: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 cni.go:350] Error deleting shop_web-1/8f2d from network calico/k8s-pod-network: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 kuberuntime_sandbox.go:70] CreatePodSandbox for pod "web-1_shop(4c)" failed: rpc error: code = Unknown desc = connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 remote_runtime.go:143] StopPodSandbox "8f2d" from runtime service failed: rpc error: code = Unknown desc = error getting ClusterInformation: connection is unauthorized: Unauthorized`,
    `E1104 07:21:09.114233    1204 pod_workers.go:190] Error syncing pod 4c ("web-1_shop(4c)"), skipping: failed to "KillPodSandbox" for "4c" with KillPodSandboxError: "rpc error: code = Unknown desc = connection is unauthorized: Unauthorized"`,
    `failed to clean up sandbox container "8f2d" network for pod "web-1": networkPlugin cni failed to teardown pod "web-1_shop" network: Unauthorized`,
  ],
};

describe.each(Object.entries(RECORDS))("%s", (_, [cls, ...records]) => {
  it.each(records)("%s", record => {
    expect(classify(record)).toBe(cls);
  });
});
