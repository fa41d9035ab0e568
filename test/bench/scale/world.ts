import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { Admin } from "../../cluster/admin";
import { ClusterClient } from "../../cluster/client";
import { install, OPERATOR } from "../../cluster/installation";
import { ensureBuilt, OPERATOR_PROGRAM, operatorNodeOptions, operatorStage } from "../../controllers/operator-image";
import { Lab } from "../../lab";
import { foldersOf } from "../../lab/folders";
import { recordOf } from "../../lab/processes";
import { readState } from "../../lab/state";
import { nodeRelease } from "../../lab/images";
import { OperatorProcess } from "../../operator/process";
import { LogFiles } from "./log-files";
import { ReferenceProcess } from "./reference-process";
import { type AuditedRequest, parseAudit } from "./requests";
import { Scheduler } from "./scheduler";
import { Usage } from "./usage";
import { type Print, waitUntil } from "./waiting";

const LEADS_LIMIT_MS = 60_000;

const GROUP = "/apis/controller-resilience.io/v1alpha1";
const RESILIENCES = `${GROUP}/controllerresiliences`;

/** The path of the ControllerResiliences of a namespace. */
export function objectsIn(namespace: string): string {
  return `${GROUP}/namespaces/${namespace}/controllerresiliences`;
}

/** Where each API server registers its address; the lab's does not, since a loopback address may not be there. */
const SERVERS = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

const LEASE = "controller-resilience";
const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${OPERATOR.namespace}/leases`;

/** The heap limit that Node.js chooses in a container with the chart's 512 MiB: below 2 GiB, a heap grows less between two garbage collections. */
const HEAP_MIB = 256;

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
  /** Options of Node.js besides those of the image. */
  readonly nodeOptions?: string;
}

/** A control plane with simulated nodes, the files of their logs, and the operator as one file with the Node.js of its image. */
export class World {
  readonly #ends: (() => unknown)[] = [];
  #kubeconfig = "";
  #node = "";
  #nodeArgs: readonly string[] = [];

  private constructor(
    readonly lab: Lab,
    readonly admin: Admin,
    readonly logs: LogFiles,
    readonly print: Print,
  ) {}

  /** Brings up a new lab; it ends with `down`, or with a failure. */
  static async up({ name, print, nodes = 0, victims = [], nodeOptions = "" }: WorldOptions): Promise<World> {
    const { namespace, serviceAccount } = OPERATOR;
    const auditedUsers = [`system:serviceaccount:${namespace}:${serviceAccount}`];
    const onProgress = (line: string, passing = false): void => {
      if (!passing) print(`lab: ${line}`);
    };
    const lab = await Lab.up({ name, controlPlaneOnly: true, auditedUsers, onProgress });
    const folder = join(foldersOf(name).folder, "scale");
    mkdirSync(folder, { recursive: true });
    const admin = Admin.of(lab);
    const world = new World(lab, admin, new LogFiles(folder, victims), print);
    const limit = `--max-old-space-size=${HEAP_MIB}`;
    world.#nodeArgs = [...operatorNodeOptions(), limit, ...nodeOptions.split(" ").filter(Boolean)];
    world.defer(() => lab.down());
    world.defer(() => admin.connection.close());
    try {
      await world.#prepare(nodes);
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
    const bundle = join(foldersOf(this.lab.name).folder, "operator.js");
    writeFileSync(bundle, withLongLead(readFileSync(OPERATOR_PROGRAM, "utf8")));
    const program = { node: this.#node, nodeArgs: this.#nodeArgs, bundle };
    const operator = OperatorProcess.start({ kubeconfig: this.#kubeconfig, env: operatorStage().env, ...program });
    this.defer(() => operator.stop());
    return operator;
  }

  /** Starts the reference with the operator's rights, and waits until it leads. */
  async startReference(program: string, namespaces: readonly string[]): Promise<ReferenceProcess> {
    const lease = { namespace: OPERATOR.namespace, name: LEASE };
    const reference = new ReferenceProcess({ program, kubeconfig: this.#kubeconfig, namespaces, lease });
    this.defer(() => reference.stop());
    const look = async (): Promise<true | string> => {
      reference.mustRun();
      const { spec } = await this.admin.get<{ spec: { holderIdentity?: string } }>(`${LEASES}/${LEASE}`);
      return Boolean(spec.holderIdentity) || "the Lease is free";
    };
    await waitUntil({ what: "the reference to lead", limitMs: LEADS_LIMIT_MS, look }, this.print);
    return reference;
  }

  /** How much of a core the API server uses in some seconds. */
  async serverPercent(seconds: number): Promise<number> {
    const { pid } = recordOf(readState(this.lab.name)!, "kube-apiserver")!;
    const before = Usage.cpuSecondsOf(pid);
    const fromMs = performance.now();
    await sleep(1_000 * seconds);
    return (100_000 * (Usage.cpuSecondsOf(pid) - before)) / (performance.now() - fromMs);
  }

  /** The requests of the operator, or of the reference, since the lab began. */
  requests(): AuditedRequest[] {
    return parseAudit(readFileSync(this.lab.auditLogPath, "utf8"));
  }

  async objects(): Promise<readonly ControllerResilience[]> {
    return (await this.admin.get<{ items: ControllerResilience[] }>(`${RESILIENCES}?resourceVersion=0`)).items;
  }

  async #prepare(nodes: number): Promise<void> {
    await install(ClusterClient.of(this.lab));
    await ensureBuilt(line => this.print(line));
    this.#node = await nodeRelease(line => this.print(`lab: ${line}`));
    const { namespace, serviceAccount } = OPERATOR;
    this.#kubeconfig = await this.lab.serviceAccountKubeconfig(namespace, serviceAccount, TOKEN_LIFE);
    await this.admin.create(LEASES, releasedLease());
    await this.admin.create(SERVERS, serverSlice());
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

/** The operator's bundle with a renew deadline, in front of the renew and retry periods, that outlives SIGSTOP: a new lead reads every log anew. */
function withLongLead(bundle: string): string {
  const parts = bundle.split(/=1e4(?=,\w+=5e3,\w+=2e3,)/);
  if (parts.length !== 2) throw new Error("the renew deadline is not in the bundle once");
  return parts.join("=1e7");
}

/** The Lease as an operator leaves it when it stops. Without a Lease an operator first waits whether another one makes it again. */
function releasedLease(): object {
  const time = new Date().toISOString().replace("Z", "000Z");
  const spec = { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 1, acquireTime: time, renewTime: time };
  return { metadata: { name: LEASE }, spec };
}

/** One API server: the operator asks the only one at the address of its kubeconfig, so that any other address will do (RFC 5737). */
function serverSlice(): object {
  return {
    metadata: { name: "kubernetes" },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"] }],
    ports: [{ name: "https", port: 443 }],
  };
}
