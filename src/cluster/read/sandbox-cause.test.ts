import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRejectedCredential } from "./sandbox-cause";

const ID = "5d0c6ad4f1f0d6a4c0f9c4d6d0b7a6f5";
const CONTAINERD = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "${ID}": plugin type="calico" failed (add): `;
const CRIO = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create pod network sandbox k8s_web_default_0(${ID}): error adding pod default_web to CNI network "k8s-pod-network": plugin type="calico" failed (add): `;
const DOCKER = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set up sandbox container "${ID}" network for pod "web": networkPlugin cni failed to set up pod "web_default" network: `;
const IMAGE = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox image "registry.example/pause:3.9": failed to pull image "registry.example/pause:3.9": `;

describe("a rejected credential of a network plugin", () => {
  it.each([
    [
      "containerd and Calico",
      `${CONTAINERD}error getting ClusterInformation: connection is unauthorized: Unauthorized`,
    ],
    ["CRI-O and Calico", `${CRIO}error getting ClusterInformation: connection is unauthorized: Unauthorized`],
    [
      "dockershim, which cleans up in vain too",
      `Failed to create pod sandbox: rpc error: code = Unknown desc = [${DOCKER.slice(DOCKER.indexOf("failed to set"))}error getting ClusterInformation: connection is unauthorized: Unauthorized, failed to clean up sandbox container "${ID}" network for pod "web": networkPlugin cni failed to teardown pod "web_default" network: error getting ClusterInformation: connection is unauthorized: Unauthorized]`,
    ],
    [
      "Multus",
      `${CONTAINERD.replace('type="calico"', 'type="multus" name="multus-cni-network"')}Multus: [default/web/uid]: error getting pod: Unauthorized`,
    ],
    [
      "Multus' shim, which quotes",
      `${CONTAINERD.replace("calico", "multus-shim")}CmdAdd (shim): CNI request failed with status 400: 'ContainerID:"${ID}" Netns:"/run/netns/x": error configuring pod [default/web] networking: error waiting for pod: Unauthorized'\n`,
    ],
    [
      "client-go's other words",
      `${CONTAINERD}error getting pod: the server has asked for the client to provide credentials (get pods web)`,
    ],
    [
      "a request that names the API server",
      `${CONTAINERD}Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/clusterinformations/default": Unauthorized`,
    ],
    ["combined Events", `(combined from similar events): ${CONTAINERD}connection is unauthorized: Unauthorized`],
  ])("is found as said by %s", (_, message) => {
    expect(isRejectedCredential(message)).toBe(true);
  });

  it.each([
    ["no address", `${CONTAINERD}no IP addresses available in range set: 10.0.0.1-10.0.0.9`],
    [
      "403 as Calico calls it",
      `${CONTAINERD}error getting ClusterInformation: connection is unauthorized: clusterinformations.crd.projectcalico.org "default" is forbidden: User "system:serviceaccount:kube-system:calico-node" cannot get resource "clusterinformations"`,
    ],
    ["403", `${CONTAINERD}error getting pod: pods "web" is forbidden: User "x" cannot get resource "pods"`],
    ["a timeout", "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded"],
    ["an API server that is away", `${CONTAINERD}Get "https://10.96.0.1:443/api/v1": dial tcp: connection refused`],
    [
      "the runtime",
      `${CONTAINERD.slice(0, 68)}failed to create containerd task: OCI runtime create failed: Unauthorized`,
    ],
    [
      "a registry's 401",
      `${IMAGE}failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized`,
    ],
    ["a registry's word", `${IMAGE}pull access denied: authorization failed: Unauthorized`],
    ["a registry's sentence", `${IMAGE}unauthorized: authentication required`],
    ["another server's 401", `${CONTAINERD}Post "https://ipam.example/v1/addresses": Unauthorized`],
    ["an HTTP status of nobody knows whom", `${CONTAINERD}ipam: unexpected status: 401 Unauthorized`],
    ["a reason that is not the API server's", `${CONTAINERD}ipam: Unauthorized: no basic auth credentials`],
    ["a pod of that name", `${CONTAINERD}pod "x: Unauthorized-0" has no address`],
    ["an agent that is away", `${CONTAINERD}dial unix /var/run/cilium/cilium.sock: no such file or directory`],
    ["nothing", ""],
  ])("is not taken from %s", (_, message) => {
    expect(isRejectedCredential(message)).toBe(false);
  });

  it("is decided for any text, in time that does not grow faster than a message may", () => {
    const words = fc.constantFrom(
      ": Unauthorized",
      'plugin type="',
      "error adding pod ",
      '"',
      " ",
      "https://",
      "x",
      ")",
    );
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 400 }),
        parts => typeof isRejectedCredential(parts.join("")) === "boolean",
      ),
    );
    for (const word of ['plugin type="', "error adding pod x", ": Unauthorized)", "https://x", "'"]) {
      const startedMs = performance.now();
      isRejectedCredential(CONTAINERD + word.repeat(100_000));
      expect(performance.now() - startedMs).toBeLessThan(1_000);
    }
  });
});
