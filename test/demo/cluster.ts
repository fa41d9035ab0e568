import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ClusterClient, type Kubectl } from "../cluster/client";
import { OPERATOR } from "../cluster/installation";
import { Lab } from "../lab";
import { run } from "../lab/commands";
import { schedulerImage } from "../lab/images";

/** The cluster of a demonstration: its own lab, or a cluster that the user named. */
export interface DemoCluster {
  readonly description: string;
  readonly schedulerImage: string;
  /** Set if the cluster is a lab: for changes that are allowed only on our own cluster. */
  readonly lab?: Lab;
  readonly kubectl: Kubectl;
  /** Kubeconfig with the rights of the operator's own ServiceAccount. */
  operatorKubeconfig(): Promise<string>;
  /** How a user accesses the cluster if it is kept. */
  readonly hint: string;
  close(): Promise<void>;
}

/** The name of the lab. */
const NAME = "demo";

/** Longer than any call waits, such as for a rollout. */
const KUBECTL_TIMEOUT_MS = 600_000;

/** Starts the demonstration's own lab, which outlives this process if it stays. */
export async function labCluster(onProgress: (line: string) => void, { stays = false } = {}): Promise<DemoCluster> {
  const lab = await Lab.up({ name: NAME, stays, onProgress });
  if (!lab.hasNode)
    throw new Error(
      "the demonstration needs a real node, which requires Linux and root; without them, name a cluster with --context",
    );
  onProgress("loading the image of kube-scheduler");
  const image = await schedulerImage();
  await lab.loadImage(image.tar);
  return {
    description: `a new lab (${lab.server})`,
    schedulerImage: image.reference,
    lab,
    kubectl: (args, stdin) => lab.kubectl(args, stdin === undefined ? {} : { stdin }),
    operatorKubeconfig: () => lab.serviceAccountKubeconfig(OPERATOR.namespace, OPERATOR.serviceAccount),
    hint: `npm run lab -- shell --name ${NAME}   (to remove it: npm run lab -- down --name ${NAME})`,
    close: async () => {
      await lab.down();
      onProgress(`the lab "${NAME}" is removed`);
    },
  };
}

/** Uses the cluster of a context of the user's kubeconfig. */
export async function contextCluster(context: string, folder: string): Promise<DemoCluster> {
  if ((await run(["kubectl", "version", "--client"])).code === 127)
    throw new Error("--context needs kubectl on the PATH");
  const kubectl: Kubectl = (args, stdin = "") =>
    run(["kubectl", "--context", context, ...args], { stdin, timeoutMs: KUBECTL_TIMEOUT_MS });
  const client = new ClusterClient(kubectl);
  const version = await client.json<{ serverVersion: { gitVersion: string } }>(["version"]);
  const release = version.serverVersion.gitVersion.replace(/[+-].*$/, "");
  return {
    description: `context ${context} (Kubernetes ${release})`,
    schedulerImage: `registry.k8s.io/kube-scheduler:${release}`,
    kubectl,
    operatorKubeconfig: async () => {
      const create = ["create", "token", OPERATOR.serviceAccount, "-n", OPERATOR.namespace, "--duration=1h"];
      const token = await client.output(create);
      return writeTokenKubeconfig(
        await client.output(["config", "view", "--minify", "--raw", "-o", "json"]),
        token.trim(),
        folder,
      );
    },
    hint: `kubectl --context ${context}`,
    close: () => Promise.resolve(),
  };
}

async function writeTokenKubeconfig(view: string, token: string, folder: string): Promise<string> {
  const config = JSON.parse(view) as { users: { name: string; user: object }[] };
  config.users = config.users.map(({ name }) => ({ name, user: { token } }));
  const path = join(folder, "operator.kubeconfig");
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
