// The demonstration of flows: a controller without backoff loses its rights and loops on 403, and another client is measured beside it.
import type { FlowStatus, StatusCondition } from "../../src/api/controller-resilience";
import { ClusterClient } from "../cluster/client";
import { nodeControllerImage } from "../controllers/images";
import { smallController } from "../controllers/small-controller";
import { readablePath, reader } from "../flood/accounts";
import { LoopingClient } from "../flood/client";
import type { Lab } from "../lab";
import type { DemoCluster } from "./cluster";
import { LatencyPlot } from "./plot";
import type { Play } from "./scenario";
import { ConditionTeller, quoteKubectl, quoteObject } from "./telling";
import type { Timeline } from "./timeline";

const NAME = "my-controller";
const OTHER = "other";
/** The shortest release there is, so that users need not wait five minutes for the end. */
const REQUEST_RATE = { threshold: 100, for: "30s", onRunaway: "Throttle", release: "30s" } as const;
const SPEC = { targets: [{ kind: "Deployment", name: NAME }], flowIsolation: { requestRate: REQUEST_RATE } };
/** How long the other client is measured where nothing happens. */
const QUIET_MS = 10_000;
/** Longer than any healthy run by far; then it says what it saw and fails. */
const PATIENCE_MS = 240_000;

/** Seconds from the loss of the rights to what was seen first. */
export interface RunawayTimes {
  readonly reportedAfter: number;
  readonly throttledAfter: number;
}

/** The other client's figures, in milliseconds and requests per second. */
export interface Beside {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

/** Plays the scenario on a lab: a flood has no business on any other cluster. */
export class Runaway implements Play {
  private readonly client: ClusterClient;
  private readonly lab: Lab;
  private readonly teller: ConditionTeller;
  private other: LoopingClient | undefined;
  private readonly plot: LatencyPlot;

  constructor(
    cluster: DemoCluster,
    private readonly timeline: Timeline,
    private readonly namespace = "runaway",
  ) {
    if (cluster.lab === undefined)
      throw new Error("this demonstration floods an API server with requests, so it needs a lab of its own");
    this.lab = cluster.lab;
    this.client = new ClusterClient(cluster.kubectl);
    this.teller = new ConditionTeller(timeline);
    this.plot = new LatencyPlot();
  }

  /** The controller, with its rights and protected, and the other client beside it. */
  async prepare(): Promise<void> {
    this.timeline.heading("A controller of 64 workers without backoff, and another client that is measured");
    const image = await nodeControllerImage();
    await this.lab.loadImage(image.tar);
    await this.client.createNamespace(this.namespace);
    const command = ["node", "/app/reckless-controller.js"];
    const { namespace } = this;
    await this.client.apply(smallController({ namespace, name: NAME, image: image.reference, command }));
    await this.client.apply(reader(namespace, OTHER));
    const [pod] = await this.client.readyPods(namespace, NAME);
    this.timeline.say("pod", `${pod?.metadata.name ?? "?"} is Ready`, "good");
    await this.client.protect(namespace, NAME, SPEC);
    this.timeline.quote(JSON.stringify(SPEC.flowIsolation));
    await this.until("the flow to be isolated", async () => (await this.condition())?.status === "True");
    this.teller.tell(await this.condition());
    const flow = await this.flow();
    this.timeline.say("flow", `${flow?.flowSchema ?? "?"} on level ${flow?.priorityLevel ?? "?"}`, "good");
    const kubeconfig = await this.lab.serviceAccountKubeconfig(namespace, OTHER);
    this.other = await LoopingClient.start({ kubeconfig, path: readablePath(namespace, OTHER), connections: 2 });
  }

  /** Takes the rights away, and watches until all is as before. */
  async play(): Promise<string> {
    const alone = await this.measure(QUIET_MS);
    this.tellOther("alone", alone);
    const times = await this.loseRights();
    const held = await this.measure(QUIET_MS);
    this.tellOther("beside the flow that is held still", held);
    await this.letGo();
    this.timeline.heading("The other client's latency, second by second: the slowest hundredth (p99)");
    this.timeline.quote(this.plot.draw(this.other?.seconds ?? []));
    return `Reported ${times.reportedAfter.toFixed(1)} s after it began, held still after ${times.throttledAfter.toFixed(1)} s, and let go again.`;
  }

  /** The controller loops on 403 until it is throttled. Returns when that was seen. */
  async loseRights(): Promise<RunawayTimes> {
    this.timeline.heading("Its RoleBinding is deleted: every answer is a 403 from now on, and it asks again at once");
    await this.client.deleteBinding("RoleBinding", NAME, this.namespace);
    this.timeline.setZero();
    this.mark("rights lost");
    let reportedAfter: number | undefined;
    const throttledAfter = await this.until("the flow to be throttled", async () => {
      const flow = await this.tell();
      if (flow?.state !== "Normal") reportedAfter ??= this.timeline.seconds;
      return flow?.state === "Throttled" && this.timeline.seconds;
    });
    this.mark("throttled");
    return { reportedAfter: reportedAfter ?? throttledAfter, throttledAfter };
  }

  /** Its rights come back, the throttle ends by itself, and probation after it. */
  async letGo(): Promise<void> {
    this.timeline.heading("Its rights come back");
    const { namespace } = this;
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: NAME };
    const subjects = [{ kind: "ServiceAccount", namespace, name: NAME }];
    const metadata = { namespace, name: NAME };
    const apiVersion = "rbac.authorization.k8s.io/v1";
    await this.client.apply([{ apiVersion, kind: "RoleBinding", metadata, roleRef, subjects }]);
    this.mark("rights back");
    await this.until("the flow to be on probation", async () => (await this.tell())?.state === "Probation");
    this.mark("let go");
    await this.until("the flow to be normal", async () => (await this.tell())?.state === "Normal");
    this.mark("normal");
  }

  /** The other client's figures over a span of time from now on. */
  async measure(ms: number): Promise<Beside> {
    const fromMs = Date.now();
    await new Promise(resolve => setTimeout(resolve, ms));
    const { p50Ms, p99Ms, perSecond } = this.other?.between(fromMs, Date.now()) ?? {
      p50Ms: NaN,
      p99Ms: NaN,
      perSecond: 0,
    };
    return { p50Ms, p99Ms, perSecond };
  }

  /** The flow, the object and its Events as kubectl prints them. */
  async show(): Promise<void> {
    const columns =
      "NAME:.metadata.name,LEVEL:.spec.priorityLevelConfiguration.name,PRECEDENCE:.spec.matchingPrecedence";
    const label = "app.kubernetes.io/managed-by=controller-resilience";
    await quoteKubectl(this.client, this.timeline, [
      "get",
      "flowschemas",
      "-l",
      label,
      "-o",
      `custom-columns=${columns}`,
    ]);
    await quoteObject(this.client, this.timeline, { namespace: this.namespace, name: NAME });
  }

  /** Takes away what prepare() made. */
  async cleanUp(): Promise<void> {
    await this.other?.stop();
    await this.client.deleteNamespace(this.namespace);
  }

  private mark(what: string): void {
    this.plot.mark(Date.now(), what);
  }

  private tellOther(when: string, { p50Ms, p99Ms, perSecond }: Beside): void {
    const figures = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, ${Math.round(perSecond)} requests/s`;
    this.timeline.say("other client", `${when}: ${figures}`, "plain");
  }

  /** Reports the condition and the flow's state. */
  private async tell(): Promise<FlowStatus | undefined> {
    const { status } = await this.client.resilience(this.namespace, NAME);
    this.teller.tell(status?.conditions?.find(({ type }) => type === "FlowsIsolated"));
    const flow = status?.flows?.find(({ serviceAccount }) => serviceAccount === NAME);
    if (flow?.state !== undefined) {
      const tone = flow.state === "Normal" ? "good" : "busy";
      this.timeline.say("flow", `${flow.state}, on level ${flow.priorityLevel ?? "?"}`, tone);
    }
    return flow;
  }

  private async flow(): Promise<FlowStatus | undefined> {
    const { status } = await this.client.resilience(this.namespace, NAME);
    return status?.flows?.find(({ serviceAccount }) => serviceAccount === NAME);
  }

  private condition(): Promise<StatusCondition | undefined> {
    return this.client.condition(this.namespace, NAME, "FlowsIsolated");
  }

  private until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
    return this.client.until(what, look, PATIENCE_MS);
  }
}
