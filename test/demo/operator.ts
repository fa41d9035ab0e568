import { installShipped } from "../cluster/shipped";
import { ClusterClient } from "../cluster/client";
import { install, OPERATOR } from "../cluster/installation";
import type { Lab } from "../lab";
import type { Progress } from "../lab/progress";
import { complaintsIn, parseLine } from "../operator/log";
import { OperatorProcess } from "../operator/process";
import type { DemoCluster } from "./cluster";

/** The operator of a demonstration, in the cluster or on this machine. */
export interface DemoOperator {
  /** Where the operator runs, and with which rights. */
  readonly description: string;
  /** What happens to the operator if the cluster is kept. */
  readonly afterwards: string;
  /** Installs the operator and its prerequisites; resolves when it is ready. */
  start(): Promise<void>;
  /** The last warnings and errors of its log. */
  complaints(): Promise<string[]>;
  /** Stops everything that would outlive the cluster. */
  stop(): Promise<void>;
}

/** Runs the operator in the cluster, as users install it with kubectl: Helm would have to be built. Only a lab has its image, which is in no registry. */
export class OperatorInCluster implements DemoOperator {
  readonly description = "Install the operator with deploy/install.yaml: two pods, one of which leads";
  readonly afterwards = "with the operator";

  constructor(
    private readonly lab: Lab,
    private readonly progress: Progress,
  ) {}

  async start(): Promise<void> {
    await installShipped(this.lab, this.progress);
  }

  async complaints(): Promise<string[]> {
    const pods = ["-n", OPERATOR.namespace, "-l", "app.kubernetes.io/name=controller-resilience"];
    const { stdout, stderr } = await this.lab.kubectl(["logs", ...pods, "--tail=-1"]);
    const lines = stdout.split("\n").filter(line => line.trim() !== "");
    const noise = lines.filter(line => parseLine(line) === undefined).slice(-20);
    return [...complaintsIn(lines.flatMap(line => parseLine(line) ?? [])), ...noise, stderr.trim()].filter(Boolean);
  }

  /** Nothing to stop: the operator is deleted with its cluster, or kept with it. */
  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/** Runs the operator as a process on this machine, which works with any cluster. */
export class OperatorOnHost implements DemoOperator {
  readonly description: string;
  readonly afterwards = "without the operator, which has stopped";
  private readonly client: ClusterClient;
  private process: OperatorProcess | undefined;

  constructor(private readonly cluster: DemoCluster) {
    this.client = new ClusterClient(cluster.kubectl);
    const why = cluster.lab === undefined ? " (this cluster can't pull its image, which is in no registry)" : "";
    this.description = `Start the operator as a process on this machine${why}, with the rights of its own ServiceAccount`;
  }

  async start(): Promise<void> {
    // A lab that was kept may contain an operator, which would lead.
    if (this.cluster.lab !== undefined) await this.endTheOneInside();
    await install(this.client);
    this.process = OperatorProcess.start({ kubeconfig: await this.cluster.operatorKubeconfig() });
    await this.process.ready();
  }

  complaints(): Promise<string[]> {
    return Promise.resolve(this.process?.complaints() ?? []);
  }

  async stop(): Promise<void> {
    await this.process?.stop();
  }

  private async endTheOneInside(): Promise<void> {
    const deployment = ["deployment", "controller-resilience", "-n", OPERATOR.namespace];
    await this.client.output(["delete", ...deployment, "--ignore-not-found", "--cascade=foreground"]);
  }
}
