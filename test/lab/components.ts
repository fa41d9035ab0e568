import { join } from "node:path";
import { API_SERVICE_ADDRESS, DNS_SERVICE_ADDRESS, jointOf, NODE_ADDRESS, portsOf, SERVICE_RANGE } from "./addresses";
import { foldersOf } from "./folders";
import { API_SERVER_NAME, NODE_NAME, pkiFiles } from "./pki";
import type { LabState } from "./state";

/** Command lines and configurations of the components of a lab, as pure functions of its state, in the order of starting. */

export const COMPONENTS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "containerd",
  "kubelet",
] as const;

export type Component = (typeof COMPONENTS)[number];

const ETCD_PORT = 2379;
const ETCD_PEER_PORT = 2380;
const HTTPS_PORT = 443;

/** The URL of the API server for programs on the host. */
export function apiServerUrl(lab: LabState): string {
  if (lab.kind === "node") return `https://${jointOf(lab.index).labAddress}:${HTTPS_PORT}`;
  return `https://127.0.0.1:${portsOf(lab.index).apiServer}`;
}

/** The URL of the API server for the lab's own components. */
export function innerApiServerUrl(lab: LabState): string {
  return lab.kind === "node" ? `https://${NODE_ADDRESS}:${HTTPS_PORT}` : apiServerUrl(lab);
}

export function etcdArgs(lab: LabState): string[] {
  const client = `http://127.0.0.1:${etcdPort(lab)}`;
  const peer = `http://127.0.0.1:${lab.kind === "node" ? ETCD_PEER_PORT : portsOf(lab.index).etcdPeer}`;
  return [
    `--data-dir=${foldersOf(lab.name).etcd}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    // A lab need not survive a power failure.
    "--unsafe-no-fsync",
  ];
}

/** A later argument wins over an earlier one, so the lab's extra arguments may change any of these. */
export function apiServerArgs(lab: LabState): string[] {
  const files = pkiFiles(lab);
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort(lab)}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.signingPublicKey}`,
    `--service-account-signing-key-file=${files.signingKey}`,
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    `--tls-cert-file=${files.apiServerCertificate}`,
    `--tls-private-key-file=${files.apiServerKey}`,
    `--client-ca-file=${files.ca}`,
    `--token-auth-file=${files.tokens}`,
    `--cert-dir=${files.folder}`,
    // Tells aggregated API servers, and every controller that serves HTTPS, on whose behalf the API server calls.
    `--requestheader-client-ca-file=${files.ca}`,
    `--requestheader-allowed-names=${API_SERVER_NAME}`,
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    `--proxy-client-cert-file=${files.clientCertificate}`,
    `--proxy-client-key-file=${files.clientKey}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
    ...(lab.kind === "node" ? nodeApiServerArgs(lab) : loopbackApiServerArgs(lab)),
    ...lab.extraApiServerArgs,
  ];
}

function nodeApiServerArgs(lab: LabState): string[] {
  const files = pkiFiles(lab);
  return [
    // The API server also listens on the address of the service `kubernetes`, so that pods reach it without kube-proxy.
    "--bind-address=0.0.0.0",
    `--secure-port=${HTTPS_PORT}`,
    `--advertise-address=${NODE_ADDRESS}`,
    `--kubelet-client-certificate=${files.clientCertificate}`,
    `--kubelet-client-key=${files.clientKey}`,
    // By default it looks up the node's name, which no resolver has.
    "--kubelet-preferred-address-types=InternalIP",
    // Without kube-proxy, the API server reaches webhook services only through their endpoints.
    "--enable-aggregator-routing=true",
  ];
}

function loopbackApiServerArgs(lab: LabState): string[] {
  return [
    "--bind-address=127.0.0.1",
    `--secure-port=${portsOf(lab.index).apiServer}`,
    "--advertise-address=127.0.0.1",
    // Endpoints may not be loopback addresses, and no client in this lab asks for them.
    "--endpoint-reconciler-type=none",
  ];
}

export function controllerManagerArgs(lab: LabState, kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--service-account-private-key-file=${pkiFiles(lab).signingKey}`,
    `--root-ca-file=${pkiFiles(lab).ca}`,
    "--use-service-account-credentials=true",
    "--leader-elect=false",
    // At the default of 20 requests per second, starting its controllers alone takes 5 s.
    "--kube-api-qps=500",
    "--kube-api-burst=500",
    ...(lab.kind === "node" ? [] : ["--secure-port=0"]),
  ];
}

export function schedulerArgs(kubeconfig: string): string[] {
  return [`--kubeconfig=${kubeconfig}`, "--leader-elect=false"];
}

export function kubeletArgs(lab: LabState, kubeconfig: string): string[] {
  return [
    `--config=${join(foldersOf(lab.name).node, "kubelet.json")}`,
    `--kubeconfig=${kubeconfig}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${NODE_ADDRESS}`,
  ];
}

export function kubeletConfig(lab: LabState): object {
  const { node, containerdSocket } = foldersOf(lab.name);
  const off = { enabled: false };
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: NODE_ADDRESS,
    authentication: { anonymous: off, webhook: off, x509: { clientCAFile: pkiFiles(lab).ca } },
    authorization: { mode: "AlwaysAllow" },
    cgroupDriver: "cgroupfs",
    // Two labs share the machine's cgroups, so each has its own root.
    cgroupRoot: `/${lab.cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    containerRuntimeEndpoint: `unix://${containerdSocket}`,
    clusterDomain: "cluster.local",
    clusterDNS: [DNS_SERVICE_ADDRESS],
    resolvConf: join(node, "resolv.conf"),
    volumePluginDir: join(node, "volume-plugins"),
    makeIPTablesUtilChains: false,
    enforceNodeAllocatable: [],
    // A full disk of the machine must not evict the pods under test.
    evictionHard: { "nodefs.available": "1Mi", "imagefs.available": "1Mi", "memory.available": "10Mi" },
    imageGCHighThresholdPercent: 100,
    // The kubelet's way of measuring needs quotas, which a folder does not have.
    localStorageCapacityIsolation: false,
    shutdownGracePeriod: "0s",
    fileCheckFrequency: "0s",
  };
}

/** containerd's configuration, in TOML. */
export function containerdConfig(lab: LabState, found: { cniPlugins: string; snapshotter: string }): string {
  const { node, containerdSocket } = foldersOf(lab.name);
  return `version = 2
root = "${node}/containerd/root"
state = "${node}/containerd/state"
[grpc]
  address = "${containerdSocket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${node}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE nobody may lower a score, and runc would fail.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "${found.snapshotter}"
    default_runtime_name = "runc"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${found.cniPlugins}"
    conf_dir = "${node}/cni"
`;
}

export const PAUSE_IMAGE = "lab.local/pause:1";

/** The pod network: a bridge that has the node's address too, and the chained plugins. */
export function cniConfig(podRange: string, chained: readonly string[] = []): object {
  const ranges = [[{ subnet: podRange, gateway: NODE_ADDRESS }]];
  const ipam = { type: "host-local", ranges, routes: [{ dst: "0.0.0.0/0" }] };
  const bridge = { type: "bridge", bridge: BRIDGE, isGateway: true, hairpinMode: true, ipam };
  return { cniVersion: "0.4.0", name: "lab", plugins: [bridge, ...chained.map(type => ({ type }))] };
}

export const BRIDGE = "pods";

/**
 * A fixed hardware address. Without one the bridge takes that of one of its pods, and another when that pod is deleted: other pods then
 * keep sending to the old address until they resolve it again, some 40 s later.
 */
const BRIDGE_HARDWARE_ADDRESS = "02:00:0a:55:00:01";

/** Commands for `ip -batch` inside the lab's network namespace; `eth0` is its end of the veth pair. */
export function networkCommands(lab: LabState): string {
  const joint = jointOf(lab.index);
  return [
    "link set lo up",
    `link add ${BRIDGE} address ${BRIDGE_HARDWARE_ADDRESS} type bridge`,
    `address add ${NODE_ADDRESS}/24 dev ${BRIDGE}`,
    `address add ${API_SERVICE_ADDRESS}/32 dev ${BRIDGE}`,
    `address add ${DNS_SERVICE_ADDRESS}/32 dev ${BRIDGE}`,
    `link set ${BRIDGE} up`,
    `address add ${joint.labAddress}/${joint.prefixLength} dev eth0`,
    "link set eth0 up",
    `route add default via ${joint.hostAddress}`,
    "",
  ].join("\n");
}

function etcdPort(lab: LabState): number {
  return lab.kind === "node" ? ETCD_PORT : portsOf(lab.index).etcdClient;
}
