import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControllerResilience } from "../../../src/api/controller-resilience";
import { Connection } from "../../../src/cluster/http/connection";
import { loadKubeConfigFile } from "../../../src/cluster/testing/kubeconfig";
import { systemClock } from "../../../src/cluster/system";
import { Admin, eventually } from "../../cluster/admin";
import { ClusterClient } from "../../cluster/client";
import { install, OPERATOR } from "../../cluster/installation";
import { letOperatorBind } from "../../enforcers/rights";
import { bundleEntry } from "../../operator/bundle";
import { OperatorProcess } from "../../operator/process";
import { actionsOf } from "../crash/compare";
import { FaultProxy } from "../fault-proxy";
import { kubeconfigVia } from "../kubeconfig";
import { StandInNode } from "../node";
import { leads } from "../rig";
import type { Scene } from "../scenario";
import type { Stage } from "../suite";
import { MEASURABLE } from "./memory";

/** Longer than the suite. */
const TOKEN_LIFE = "4h";

/** Interval of full passes. A missed watch event still shows, since a pass never reads watched objects itself. */
const FULL_PASS_SECONDS = "20";

/** Minimum time between two restarts: several namespaces are active at the same time. */
const RESTART_INTERVAL_SECONDS = "2";

/** Until a process is ready, and until it leads, on a busy machine; in milliseconds. */
const READY_MS = 180_000;
const LEAD_MS = 120_000;

/** The ClusterRole of all bindings here, which the operator may bind. */
export const ROLE = { kind: "ClusterRole", name: "view" } as const;

/** An operator process, and the proxy through which it reaches the API server. */
export interface Replica {
  readonly proxy: FaultProxy;
  readonly operator: OperatorProcess;
}

/** A control plane with the operator. Everything ends with the stage. */
export class World {
  readonly replicas: Replica[] = [];
  /** Namespaces in which only a single planned write meets a fault. */
  readonly apart = new Set<string | undefined>();
  /** When the first replica was first seen to lead, by the monotonic clock. */
  #ledFromMs = Infinity;

  private constructor(
    private readonly stage: Pick<Stage, "lab" | "defer">,
    private readonly hands: Pick<Scene, "admin" | "client" | "node">,
    private readonly files: { readonly folder: string; readonly bundle: string },
  ) {}

  /** Installs the operator on that lab, and starts one process that leads. */
  static async up(stage: Pick<Stage, "lab" | "defer">): Promise<World> {
    const { lab, defer } = stage;
    const client = ClusterClient.of(lab);
    await install(client);
    await letOperatorBind(client, ROLE);
    const admin = new Admin(new Connection(() => loadKubeConfigFile(lab.kubeconfigPath), systemClock));
    defer(() => {
      admin.connection.close();
      return Promise.resolve();
    });
    const node = new StandInNode(admin);
    await node.start();
    defer(() => node.stop());
    const folder = mkdtempSync(join(tmpdir(), "controller-resilience-faults-"));
    defer(() => rm(folder, { recursive: true, force: true }));
    const world = new World(stage, { admin, client, node }, { folder, bundle: await bundleEntry(folder) });
    await world.replica();
    await world.untilLed(world.replicas);
    world.#ledFromMs = performance.now();
    return world;
  }

  /** Starts one more operator process, behind its own proxy. */
  async replica(): Promise<Replica> {
    const { lab, defer } = this.stage;
    const { ca, ...serving } = lab.certificates;
    const proxy = new FaultProxy({ server: lab.server, ca, serving });
    await proxy.start();
    defer(() => proxy.stop());
    const { namespace, serviceAccount } = OPERATOR;
    const path = await lab.serviceAccountKubeconfig(namespace, serviceAccount, TOKEN_LIFE);
    const kubeconfig = join(this.files.folder, `replica-${this.replicas.length}.kubeconfig`);
    writeFileSync(kubeconfig, kubeconfigVia(proxy.url, path), { mode: 0o600 });
    const args = ["--restart-interval", RESTART_INTERVAL_SECONDS];
    const env = { ...MEASURABLE, RESILIENCE_FULL_PASS_SECONDS: FULL_PASS_SECONDS };
    const operator = OperatorProcess.start({ kubeconfig, args, env, bundle: this.files.bundle });
    defer(async () => void (await operator.stop()));
    await operator.ready(READY_MS);
    const made = { proxy, operator };
    this.replicas.push(made);
    return made;
  }

  /** Creates a namespace for one case. */
  async scene(name: string): Promise<Scene> {
    const namespace = await this.hands.admin.namespace(`faults-${name}`);
    const untilLedFor = (ms: number): Promise<void> => sleep(Math.max(0, this.#ledFromMs + ms - performance.now()));
    return { ...this.hands, namespace, untilLedFor };
  }

  /** Waits until one of these leads. */
  async untilLed(candidates: readonly Replica[]): Promise<void> {
    const look = async (): Promise<boolean> => {
      const all = await Promise.all(candidates.map(({ operator }) => operator.probe("/metrics")));
      return all.some(({ text }) => leads(text));
    };
    if (!(await eventually(look, Boolean, LEAD_MS))) throw new Error("no operator leads");
  }

  /** The first replica, which leads unless it is cut off. */
  get first(): Replica {
    const [first] = this.replicas;
    if (first === undefined) throw new Error("there is no operator");
    return first;
  }

  /** The status of every object, by namespace and name. */
  async statuses(): Promise<Record<string, unknown>> {
    const { items } = await this.hands.admin.get<{ items: ControllerResilience[] }>(
      "/apis/controller-resilience.io/v1alpha1/controllerresiliences",
    );
    return Object.fromEntries(items.map(({ metadata, status }) => [`${metadata.namespace}/${metadata.name}`, status]));
  }

  /** The writes that the API server has carried out in a namespace, for either process; without status. */
  actionsIn(namespace: string): Record<string, number> {
    return actionsOf(this.replicas.flatMap(({ proxy }) => proxy.writes.filter(write => write.namespace === namespace)));
  }
}
