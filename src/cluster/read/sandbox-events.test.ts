import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRejectedCredential, sandboxEventView } from "./views";

const ID = "5d0c6ad4f1f0d6a4c0f9c4d6d0b7a6f5";
const CONTAINERD = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "${ID}": plugin type="calico" failed (add): `;
const CRIO = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to create pod network sandbox k8s_web_default_0(${ID}): error adding pod default_web to CNI network "k8s-pod-network": plugin type="calico" failed (add): `;
const DOCKER = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to set up sandbox container "${ID}" network for pod "web": networkPlugin cni failed to set up pod "web_default" network: `;
const IMAGE = `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox image "registry.example/pause:3.9": failed to pull image "registry.example/pause:3.9": `;

describe("a rejected credential of a network plugin", () => {
  it.each([
    ["containerd, Calico", `${CONTAINERD}error getting ClusterInformation: connection is unauthorized: Unauthorized`],
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
    [
      "a plugin's stderr, with its line break escaped",
      `${CONTAINERD}netplugin failed: "Error: failed to get pod: Unauthorized\\n"`,
    ],
    ["that, quoted twice", `${CONTAINERD}netplugin failed: "\\"Error: failed to get pod: Unauthorized\\\\r\\\\n\\""`],
    [
      "containerd at the end of a pod, quoted by the kubelet",
      `error killing pod: failed to "KillPodSandbox" for "4a6f" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for sandbox \\"${ID}\\": plugin type=\\"calico\\" failed (delete): error getting ClusterInformation: connection is unauthorized: Unauthorized"`,
    ],
    [
      "CRI-O at the end of a pod",
      `error killing pod: failed to "KillPodSandbox" for "4a6f" with KillPodSandboxError: "rpc error: code = Unknown desc = failed to destroy network for pod sandbox k8s_web_default_0(${ID}): error removing pod default_web from CNI network \\"k8s-pod-network\\": plugin type=\\"calico\\" failed (delete): connection is unauthorized: Unauthorized"`,
    ],
    [
      "an uninstalled Multus whose configuration is left (multus-cni#1094)",
      `${CONTAINERD.split("plugin")[0]}Multus: [default/web/a47656c9]: error getting pod: Unauthorized`,
    ],
    ["no plugin by name (amazon-vpc-cni-k8s#1831)", `${DOCKER}Unauthorized`],
    ["the runtime alone (alta3/kubernetes-the-alta3-way#21)", `${CONTAINERD.split("plugin")[0]}Unauthorized`],
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
    ["a registry", `${IMAGE}failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized`],
    ["a registry's word", `${IMAGE}pull access denied: authorization failed: Unauthorized`],
    ["a registry's sentence", `${IMAGE}unauthorized: authentication required`],
    ["another server's 401", `${CONTAINERD}Post "https://ipam.example/v1/addresses": Unauthorized`],
    ["an HTTP status of nobody knows whom", `${CONTAINERD}ipam: unexpected status: 401 Unauthorized`],
    ["a reason that is not the API server's", `${CONTAINERD}ipam: Unauthorized: no basic auth credentials`],
    ["a pod of that name", `${CONTAINERD}pod "x: Unauthorized-0" has no address`],
    ["an explanation after an escaped line break", `${CONTAINERD}ipam: Unauthorized\\nno basic auth credentials`],
    [
      "a container that does not end",
      'error killing pod: failed to "KillContainer" for "main" with KillContainerError: "rpc error: code = Unknown desc = proxy: Unauthorized"',
    ],
    ["nothing", ""],
  ])("is not taken from %s", (_, message) => {
    expect(isRejectedCredential(message)).toBe(false);
  });

  it.each([
    'failed to find plugin "cilium-cni" in path [/opt/cni/bin]',
    "unable to connect to Cilium daemon: Get http:///var/run/cilium/cilium.sock/v1/config: dial unix /var/run/cilium/cilium.sock: connect: no such file or directory\nIs the agent running?",
    "loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or directory",
    'failed to send CNI request: Post "http://dummy/cni": dial unix /run/multus/multus.sock: connect: connection refused',
    "stat /var/lib/calico/nodename: no such file or directory: check that the calico/node container is running",
  ])("is not taken from an agent that is away: %s", cause => {
    expect(isRejectedCredential(CONTAINERD + cause)).toBe(false);
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
    for (const word of [
      'plugin type="',
      "error adding pod x",
      ": Unauthorized)",
      ": Unauthorized\\\\n",
      "https://x",
      "'",
    ]) {
      const used = process.cpuUsage();
      isRejectedCredential(CONTAINERD + word.repeat(100_000));
      expect(process.cpuUsage(used).user).toBeLessThan(1_000_000);
    }
  });
});

const message =
  'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "5d": plugin type="calico" failed (add): error getting ClusterInformation: connection is unauthorized: Unauthorized';
const reason = "FailedCreatePodSandBox";
const at = (second: number): string => `2025-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const ms = (second: number): number => Date.parse(at(second));
const metadata = {
  namespace: "shop",
  name: "web.17",
  uid: "u1",
  resourceVersion: "3",
  creationTimestamp: at(40),
  managedFields: [{ manager: "kubelet", operation: "Update", time: at(55) }],
};
const kubelet = { component: "kubelet", host: "n1" };
const core = {
  metadata,
  reason,
  message,
  source: kubelet,
  firstTimestamp: at(1),
  lastTimestamp: at(31),
  count: 4,
  eventTime: null,
};
const view = {
  namespace: "shop",
  name: "web.17",
  uid: "u1",
  node: "n1",
  storedMs: ms(55),
  count: 4,
  unauthorized: true,
};

describe("an Event of a sandbox as a view", () => {
  it.each<[string, object]>([
    ["the core API as the kubelet's recorder writes it", core],
    ["combined Events with the last message", { ...core, message: `(combined from similar events): ${message}` }],
    [
      "a series of events.k8s.io, read through the core API",
      {
        metadata,
        reason,
        message,
        source: {},
        firstTimestamp: null,
        lastTimestamp: null,
        reportingComponent: "kubelet",
        reportingInstance: "n1",
        eventTime: "2025-01-01T00:00:01.000000Z",
        series: { count: 4, lastObservedTime: "2025-01-01T00:00:31.000000Z" },
      },
    ],
  ])("is the same in the shape of %s", (_, raw) => {
    expect(sandboxEventView(raw)).toEqual(view);
  });

  it.each(["2024-12-31T23:50:00Z", "2025-01-01T00:10:00Z"])("has the API server's time, if the node says %s", time => {
    const skewed = { ...core, firstTimestamp: time, lastTimestamp: time, eventTime: time };
    expect(sandboxEventView(skewed)).toEqual(view);
    expect(sandboxEventView({ ...skewed, metadata: { ...metadata, managedFields: undefined } })).toMatchObject({
      storedMs: ms(40),
    });
  });

  it.each([
    ["another reason", { reason: "BackOff" }],
    ["no uid", { metadata: { ...metadata, uid: undefined } }],
    ["no node", { source: { component: "kubelet" } }],
    ["no time", { metadata: { ...metadata, creationTimestamp: null, managedFields: [{ time: "yesterday" }, 1] } }],
  ])("is null with %s", (_, change) => {
    expect(sandboxEventView({ ...core, ...change })).toBeNull();
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (source, series, count) => {
        sandboxEventView(source);
        const seen = sandboxEventView({ ...core, source, series, count, reportingInstance: "n1" });
        expect(seen === null || Number.isFinite(seen.storedMs)).toBe(true);
      }),
    );
  });
});
