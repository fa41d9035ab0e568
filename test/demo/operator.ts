import { installChart, upgradeChart, bindValue } from "../cluster/chart";
import { ClusterClient } from "../cluster/client";
import { install, OPERATOR } from "../cluster/installation";
import { type BindableRole, letOperatorBind } from "../enforcers/rights";
import type { Lab } from "../lab";
import type { Progress } from "../lab/progress";
import { complaintsIn, parseLine } from "../operator/log";
import { OperatorProcess } from "../operator/process";
import type { DemoCluster } from "./cluster";

/** The operator of a demonstration, wherever it runs. */
export interface DemoOperator {
  /** Where it runs, and with which rights. */
  readonly description: string;
  /** What happens to it if the cluster is kept open. */
  readonly afterwards: string;
  /** Installs what it needs, and it; it is ready when this returns. */
  start(): Promise<void>;
  /** Lets it renew bindings of a role, as its installer does; the role's namespace is there. */
  letBind(role: BindableRole): Promise<void>;
  /** The last lines of its log that describe trouble. */
  complaints(): Promise<string[]>;
  /** Ends whatever of it would outlive the cluster. */
  stop(): Promise<void>;
}

/** Where a user has it: in the cluster, by its chart. Only a lab has its image, which is in no registry. */
export class OperatorInCluster implements DemoOperator {
  readonly description = "The operator: its Helm chart, two pods of which one leads";
  readonly afterwards = "with the operator in it";
  private readonly bindable: BindableRole[] = [];

  constructor(
    private readonly lab: Lab,
    private readonly progress: Progress,
  ) {}

  async start(): Promise<void> {
    // A lab that was kept open may have what an operator outside of it needs.
    await installChart(this.lab, ["--take-ownership", "--force-conflicts"], this.progress);
  }

  async letBind(role: BindableRole): Promise<void> {
    this.bindable.push(role);
    await upgradeChart(this.lab, bindValue(this.bindable));
  }

  async complaints(): Promise<string[]> {
    const pods = ["-n", OPERATOR.namespace, "-l", "app.kubernetes.io/name=controller-resilience"];
    const { stdout, stderr } = await this.lab.kubectl(["logs", ...pods, "--tail=-1"]);
    const lines = stdout.split("\n").filter(line => line.trim() !== "");
    const noise = lines.filter(line => parseLine(line) === undefined).slice(-20);
    return [...complaintsIn(lines.flatMap(line => parseLine(line) ?? [])), ...noise, stderr.trim()].filter(Boolean);
  }

  /** It goes with its cluster, and stays where that is kept. */
  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/** As a process on this machine, which works on any cluster. */
export class OperatorOnHost implements DemoOperator {
  readonly description: string;
  readonly afterwards = "the operator has ended";
  private readonly client: ClusterClient;
  private process: OperatorProcess | undefined;

  constructor(private readonly cluster: DemoCluster) {
    this.client = new ClusterClient(cluster.kubectl);
    const why = cluster.lab === undefined ? " (its image is in no registry that this cluster could pull it from)" : "";
    this.description = `The operator: a process on this machine${why}, with the rights of its own ServiceAccount`;
  }

  async start(): Promise<void> {
    // A lab that was kept open may have one, which would lead.
    if (this.cluster.lab !== undefined) await this.endTheOneInside();
    await install(this.client);
    this.process = OperatorProcess.start({ kubeconfig: await this.cluster.operatorKubeconfig() });
    await this.process.ready();
  }

  async letBind(role: BindableRole): Promise<void> {
    await letOperatorBind(this.client, role);
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
