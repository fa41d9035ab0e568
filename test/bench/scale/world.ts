import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { Connection } from "../../../src/cluster/http/connection";
import { systemClock } from "../../../src/cluster/system";
import { loadKubeConfigFile } from "../../../src/cluster/testing/kubeconfig";
import { Admin } from "../../cluster/admin";
import { ClusterClient } from "../../cluster/client";
import { install, OPERATOR } from "../../cluster/installation";
import { operatorNodeOptions } from "../../controllers/operator-image";
import { Lab } from "../../lab";
import { bundleEntry } from "../../operator/bundle";
import { OperatorProcess } from "../../operator/process";
import { LogFiles } from "./log-files";
import { type AuditedRequest, parseAudit } from "./requests";
import { Scheduler } from "./scheduler";
import type { Print } from "./waiting";

const RESILIENCES = "/apis/controller-resilience.io/v1alpha1/controllerresiliences";

const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR.namespace}/leases`;

/** A token that outlives every scene. */
const TOKEN_LIFE = "12h";

export interface WorldOptions {
  /** The lab's name. */
  readonly name: string;
  readonly print: Print;
  /** Simulated nodes; none without pods. */
  readonly nodes?: number;
  /** Names of pods that may die. */
  readonly victims?: readonly string[];
}

/** A control plane with simulated nodes, the files of their logs, and the operator as one file, as in its image. */
export class World {
  readonly #ends: (() => unknown)[] = [];
  #kubeconfig = "";
  #bundle = "";

  private constructor(
    readonly lab: Lab,
    readonly admin: Admin,
    readonly logs: LogFiles,
    readonly print: Print,
  ) {}

  /** Brings up a new lab; it ends with `down`, or with a failure. */
  static async up({ name, print, nodes = 0, victims = [] }: WorldOptions): Promise<World> {
    const { namespace, serviceAccount } = OPERATOR;
    const auditedUser = `system:serviceaccount:${namespace}:${serviceAccount}`;
    const onProgress = (line: string, passing = false): void => {
      if (!passing) print(`lab: ${line}`);
    };
    const lab = await Lab.up({ name, controlPlaneOnly: true, auditedUser, onProgress });
    const folder = mkdtempSync(join(tmpdir(), "controller-resilience-scale-"));
    const admin = new Admin(new Connection(() => loadKubeConfigFile(lab.kubeconfigPath), systemClock));
    const world = new World(lab, admin, new LogFiles(folder, victims), print);
    world.defer(() => rmSync(folder, { recursive: true, force: true }));
    world.defer(() => lab.down());
    world.defer(() => admin.connection.close());
    try {
      await world.#prepare(folder, nodes);
    } catch (error) {
      await world.down();
      throw error;
    }
    return world;
  }

  /** Has something done at the end, before what was deferred earlier. */
  defer(end: () => unknown): void {
    this.#ends.push(end);
  }

  /** Ends everything. A failure does not keep the rest from ending. */
  async down(): Promise<void> {
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) {
      await Promise.resolve()
        .then(end)
        .catch((error: unknown) => this.print(`failed to end: ${String(error)}`));
    }
  }

  /** Starts an operator process, without waiting for anything. */
  startOperator(): OperatorProcess {
    const env = { NODE_OPTIONS: operatorNodeOptions().join(" ") };
    const operator = OperatorProcess.start({ kubeconfig: this.#kubeconfig, bundle: this.#bundle, env });
    this.defer(() => operator.stop());
    return operator;
  }

  /** The operator's requests since the lab began. */
  requests(): AuditedRequest[] {
    return parseAudit(readFileSync(this.lab.auditLogPath, "utf8"));
  }

  /** All ControllerResiliences. */
  async objects(): Promise<readonly ControllerResilience[]> {
    return (await this.admin.get<{ items: ControllerResilience[] }>(`${RESILIENCES}?resourceVersion=0`)).items;
  }

  async #prepare(folder: string, nodes: number): Promise<void> {
    await install(ClusterClient.of(this.lab));
    this.#bundle = await bundleEntry(folder);
    const { namespace, serviceAccount } = OPERATOR;
    this.#kubeconfig = await this.lab.serviceAccountKubeconfig(namespace, serviceAccount, TOKEN_LIFE);
    await this.admin.create(LEASES, releasedLease());
    if (nodes === 0) return;
    this.defer(() => this.logs.stop());
    // kwok with another configuration is another process, which waits until the Leases of its nodes have expired. So the configuration comes first.
    await this.lab.configureKwok([this.logs.start()]);
    this.print(`adding ${nodes} simulated nodes`);
    await this.lab.addKwokNodes(nodes);
    const scheduler = new Scheduler(this.admin, nodes);
    scheduler.start();
    this.defer(() => scheduler.stop());
  }
}

/** The Lease as an operator leaves it when it stops. Without a Lease an operator first waits whether another one makes it again. */
function releasedLease(): object {
  const time = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 1, acquireTime: time, renewTime: time };
  return { metadata: { name: "controller-resilience" }, spec };
}
