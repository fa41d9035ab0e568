import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ClusterClient } from "../cluster/client";
import type { LoopingClient } from "../flood/client";
import type { Lab } from "../lab";
import { freePort } from "../lab/free-port";
import { start } from "../lab/processes";
import { readState } from "../lab/state";
import { Artifacts } from "./artifacts";
import { answering, gitopsFolder } from "./core";
import { floodAs, nodeLab } from "./node-lab";
import { KUSTOMIZE_CONTROLLER } from "./programs";

/** Its namespace and its ServiceAccount, which has all rights in the cluster, as Flux installs it. */
const NAMESPACE = "flux-system";
const CONTROLLER = "kustomize-controller";

/** A lab with a node, in which the real kustomize-controller runs. */
export class FluxLab {
  private constructor(
    private readonly lab: Lab,
    readonly client: ClusterClient,
    readonly artifacts: Artifacts,
    /** The reference of the image with small controllers. */
    readonly image: string,
  ) {}

  /** Builds what it needs; takes some minutes the first time. */
  static up(name: string): Promise<FluxLab> {
    return nodeLab(name, KUSTOMIZE_CONTROLLER, async ({ lab, program, image }) => {
      const client = ClusterClient.of(lab);
      await client.apply(readFileSync(join(dirname(program), "kustomizations.yaml"), "utf8"));
      await client.untilServed(["crd/kustomizations.kustomize.toolkit.fluxcd.io"]);
      await client.createNamespace(NAMESPACE);
      await client.apply(rights());
      const artifacts = await Artifacts.serve(client, join(gitopsFolder(lab.name), "artifacts"));
      await startController(lab, program);
      return new FluxLab(lab, client, artifacts, image);
    });
  }

  /** Begins a flood of a ServiceAccount's requests. */
  flood(namespace: string, name: string): Promise<LoopingClient> {
    return floodAs(this.lab, namespace, name);
  }

  down(): Promise<void> {
    this.artifacts.close();
    return this.lab.down();
  }
}

function rights(): object[] {
  const account = { namespace: NAMESPACE, name: CONTROLLER };
  const group = "rbac.authorization.k8s.io";
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
    {
      apiVersion: `${group}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: CONTROLLER },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", ...account }],
    },
  ];
}

/** It belongs to the lab: it ends with it, and its files are in its folder. */
async function startController(lab: Lab, program: string): Promise<void> {
  const state = readState(lab.name)!;
  const temporary = join(gitopsFolder(lab.name), "tmp");
  mkdirSync(temporary, { recursive: true });
  const [health, metrics] = [await freePort(), await freePort()];
  const kubeconfig = await lab.serviceAccountKubeconfig(NAMESPACE, CONTROLLER, "6h");
  const { NO_PROXY = "" } = lab.environment;
  const variables = { KUBECONFIG: kubeconfig, TMPDIR: temporary, RUNTIME_NAMESPACE: NAMESPACE, NO_PROXY };
  const args = [`--health-addr=127.0.0.1:${health}`, `--metrics-addr=127.0.0.1:${metrics}`, "--watch-all-namespaces"];
  const environment = Object.entries(variables).map(([key, value]) => `${key}=${value}`);
  await start(state, { name: CONTROLLER, argv: ["env", ...environment, program, ...args], group: "" });
  await answering(state, CONTROLLER, `http://127.0.0.1:${health}/readyz`);
}
