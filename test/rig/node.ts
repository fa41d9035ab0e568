import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "../cluster/admin";
import { type LogCall, StandInKubelet } from "../cluster/kubelet";

const LOOK_MS = 300;
/** The node lifecycle controller waits 50 s for a node; in milliseconds. */
const HEARTBEAT_MS = 10_000;

/** The log of a pod, in pieces, as requested by a call. */
export type Voice = (call: LogCall) => Iterable<string>;

/** The part of a DaemonSet's pod that names its node. */
interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: {
    readonly nodeSelectorTerms: readonly { readonly matchFields?: readonly { readonly values: readonly string[] }[] }[];
  };
}

interface Pod {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly name: string }[];
    readonly affinity?: { readonly nodeAffinity?: NodeAffinity };
  };
  readonly status: { readonly phase: string };
}

/** Simulates a scheduler and the kubelet of a node: every pod runs and is Ready at once, and its log shows whether its token is valid. */
export class StandInNode {
  readonly name = `stand-in-${process.pid}`;
  /** Logs of the pods with this name prefix; all other pods log whether their token is valid. */
  readonly voices = new Map<string, Voice>();
  readonly #admin: Admin;
  readonly #kubelet = new StandInKubelet();
  /** By uid: the next pod of a StatefulSet has the name of the previous one. */
  readonly #rejected = new Set<string>();
  /** The latest known pods, by name. */
  readonly #uids = new Map<string, string>();
  #ended = false;
  #loop: Promise<void> = Promise.resolve();
  #beatAtMs = -Infinity;

  constructor(admin: Admin) {
    this.#admin = admin;
    this.#kubelet.answer = (call, response) => {
      const { pod } = call;
      const voice = [...this.voices].find(([prefix]) => pod.startsWith(prefix))?.[1];
      if (voice !== undefined) {
        void pipeline(Readable.from(voice(call)), response).catch(() => undefined);
        return;
      }
      const line = this.#rejected.has(this.#uids.get(pod) ?? "")
        ? `reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"`
        : `controller.go:12] "Synced"`;
      response.end(`${new Date().toISOString()} E1120 13:47:14.474533       1 ${line}\n`);
    };
  }

  /** All requested logs, in order. */
  get logCalls(): readonly LogCall[] {
    return this.#kubelet.calls;
  }

  async start(): Promise<void> {
    await this.#kubelet.start(this.#admin, this.name);
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#ended = true;
    await this.#loop;
    await this.#admin.delete(`/api/v1/nodes/${this.name}`);
    await this.#kubelet.stop();
  }

  /** From now on the current pods log that every request is answered 401. */
  async reject(namespace: string): Promise<void> {
    const { items } = await this.#admin.get<{ items: Pod[] }>(`/api/v1/namespaces/${namespace}/pods`);
    for (const { metadata } of items) this.#rejected.add(metadata.uid);
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      // Failures are retried: the objects may have changed between read and write.
      await this.#look().catch(() => undefined);
      await sleep(LOOK_MS);
    }
  }

  async #look(): Promise<void> {
    if (performance.now() - this.#beatAtMs > HEARTBEAT_MS) {
      await this.#beat();
      this.#beatAtMs = performance.now();
    }
    const { items } = await this.#admin.get<{ items: Pod[] }>("/api/v1/pods");
    for (const { metadata } of items) this.#uids.set(metadata.name, metadata.uid);
    for (const pod of items) await this.#care(pod);
  }

  async #beat(): Promise<void> {
    const time = new Date().toISOString();
    const ready = { type: "Ready", status: "True", reason: "StandIn", lastHeartbeatTime: time };
    await this.#admin.patch(`/api/v1/nodes/${this.name}/status`, { status: { conditions: [ready] } });
  }

  async #care({ metadata, spec, status }: Pod): Promise<void> {
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
    if (spec.nodeName === undefined) {
      const target = { apiVersion: "v1", kind: "Node", name: daemonNode(spec) ?? this.name };
      await this.#admin.create(`${path}/binding`, { metadata: { name: metadata.name }, target });
    } else if (metadata.deletionTimestamp !== undefined) {
      const body = { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } };
      await this.#admin.api.json({ what: "confirm a deletion", method: "DELETE", path, body });
    } else if (status.phase === "Pending") {
      await this.#admin.patch(`${path}/status`, { status: running(spec.containers) });
    }
  }
}

/** The node for which the DaemonSet controller made the pod; undefined for pods of other workloads. */
function daemonNode({ affinity }: Pod["spec"]): string | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.[0]?.values[0];
}

function running(containers: Pod["spec"]["containers"]): object {
  const startedAt = new Date().toISOString();
  const types = ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready"];
  return {
    phase: "Running",
    startTime: startedAt,
    conditions: types.map(type => ({ type, status: "True", lastTransitionTime: startedAt })),
    containerStatuses: containers.map(({ name }) => ({
      ...{ name, ready: true, started: true, restartCount: 0, image: "none", imageID: "none" },
      state: { running: { startedAt } },
    })),
  };
}
