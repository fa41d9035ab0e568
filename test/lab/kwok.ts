import { join } from "node:path";
import { NODE_ADDRESS, portsOf } from "./addresses";
import { componentKubeconfig, get, logOf, mustRun, startComponent } from "./control-plane";
import { built, type GoProgram } from "./go-build";
import { pkiFiles } from "./pki";
import { stop } from "./processes";
import type { Progress } from "./progress";
import { type LabState, writeState } from "./state";
import { waitFor } from "./wait";

/** The simulator of nodes, pods and their logs. */
const KWOK: GoProgram = {
  name: "kwok",
  version: "v0.8.0",
  sources: join(__dirname, "kwok"),
  package: "sigs.k8s.io/kwok/cmd/kwok",
  ldflags: "-s -w -X sigs.k8s.io/kwok/pkg/consts.Version=v0.8.0",
  // The lifecycle of its nodes and pods; kwok itself has no default.
  keep: {
    module: "sigs.k8s.io/kwok",
    files: [
      "kustomize/stage/node/fast/node-initialize.yaml",
      "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
      "kustomize/stage/pod/fast/pod-ready.yaml",
      "kustomize/stage/pod/fast/pod-complete.yaml",
      "kustomize/stage/pod/fast/pod-delete.yaml",
    ],
    as: "stages.yaml",
  },
};

/** An annotation by which kwok finds simulated nodes; as a taint it keeps away pods that do not tolerate it. */
const KWOK_KEY = "kwok.x-k8s.io/node";

/** Next to the port of the real kubelet, in a lab with a node. */
const NODE_LAB_PORT = 10_247;
const LEASE_SECONDS = 40;
const GRACE_MS = 2000;
const READY_TIMEOUT_MS = 120_000;
/** An address range without a route. */
const POD_RANGE = "10.88.0.0/16";

/** Starts kwok with the settings in the state, unless it runs. */
export async function startKwok(lab: LabState, progress: Progress): Promise<void> {
  const program = await built(KWOK, lab.id, progress);
  const { apiServerCertificate, apiServerKey } = pkiFiles(lab);
  const files = [join(program, "..", "stages.yaml"), ...lab.kwokConfigs];
  await startComponent(lab, "kwok", [
    program,
    `--kubeconfig=${componentKubeconfig(lab, "admin")}`,
    ...files.map(file => `--config=${file}`),
    `--manage-nodes-with-annotation-selector=${KWOK_KEY}=fake`,
    `--cidr=${POD_RANGE}`,
    `--node-ip=${lab.kind === "node" ? NODE_ADDRESS : "127.0.0.1"}`,
    `--node-port=${lab.kind === "node" ? NODE_LAB_PORT : portsOf(lab.index).kwok}`,
    `--node-lease-duration-seconds=${LEASE_SECONDS}`,
    `--tls-cert-file=${apiServerCertificate}`,
    `--tls-private-key-file=${apiServerKey}`,
  ]);
}

/** Restarts kwok with additional configuration files: stages, ClusterLogs and so on. */
export async function configureKwok(lab: LabState, configs: readonly string[], progress: Progress): Promise<void> {
  lab.kwokConfigs = [...configs];
  writeState(lab);
  await stop(lab, "kwok", GRACE_MS);
  await startKwok(lab, progress);
}

/** The simulated nodes with these numbers. */
export function kwokNodes(first: number, count: number): object[] {
  return Array.from({ length: count }, (_, offset) => {
    const name = `kwok-${first + offset}`;
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: {
        name,
        annotations: { [KWOK_KEY]: "fake", "node.alpha.kubernetes.io/ttl": "0" },
        labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", type: "kwok" },
      },
      spec: { taints: [{ key: KWOK_KEY, value: "fake", effect: "NoSchedule" }] },
    };
  });
}

/** Waits until every simulated node is Ready. */
export async function waitForKwokNodes(lab: LabState): Promise<void> {
  await waitFor({
    what: `${lab.kwokNodes} simulated nodes to be Ready`,
    timeoutMs: READY_TIMEOUT_MS,
    until: async () => {
      const { body } = await get(lab, "/api/v1/nodes?labelSelector=type%3Dkwok&resourceVersion=0");
      const { items = [] } = JSON.parse(body) as { items?: { status?: { conditions?: Condition[] } }[] };
      const ready = items.filter(({ status }) =>
        status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True"),
      );
      if (ready.length < lab.kwokNodes) throw new Error(`${ready.length} are`);
      return true;
    },
    check: () => mustRun(lab, "kwok"),
    log: logOf(lab, "kwok"),
  });
}

interface Condition {
  type: string;
  status: string;
}
