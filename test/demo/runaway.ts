import type { FlowStatus, StatusCondition } from "../../src/api/controller-resilience";
import { QUARANTINE_LEVEL } from "../../src/remedies/flow-isolation/levels";
import { ClusterClient } from "../cluster/client";
import { nodeControllerImage } from "../controllers/images";
import { smallController } from "../controllers/small-controller";
import { readablePath, reader } from "../flood/accounts";
import { LoopingClient } from "../flood/client";
import type { Second } from "../flood/seconds";
import type { Lab } from "../lab";
import type { DemoCluster } from "./cluster";
import type { Play } from "./scenario";
import { ConditionTeller, quoteKubectl, quoteObject } from "./telling";
import type { Timeline } from "./timeline";

// Demonstrates flow isolation: a controller without backoff loses its rights and loops on 403, while another client's latency is measured.

const NAME = "my-controller";
const OTHER = "other";
/** The shortest possible release, so that users need not wait five minutes for the end. */
const REQUEST_RATE = { threshold: 100, for: "30s", onRunaway: "Throttle", release: "30s" } as const;
const SPEC = { targets: [{ kind: "Deployment", name: NAME }], flowIsolation: { requestRate: REQUEST_RATE } };
/** How long the other client is measured under constant conditions. */
const QUIET_MS = 10_000;
/** Time limit, much longer than any healthy run; then the demonstration fails and prints what it saw. */
const PATIENCE_MS = 240_000;

/** Seconds from the loss of the rights to the first report and to the throttle. */
interface RunawayTimes {
  readonly reportedAfter: number;
  readonly throttledAfter: number;
}

/** Latency of the other client in milliseconds, and its requests per second. */
interface Beside {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly perSecond: number;
}

/** Runs the scenario on a lab only: no other cluster may be flooded. */
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
      throw new Error("this demonstration floods an API server with requests, so it runs only in its own lab");
    this.lab = cluster.lab;
    this.client = new ClusterClient(cluster.kubectl);
    this.teller = new ConditionTeller(timeline);
    this.plot = new LatencyPlot();
  }

  /** Creates the controller with its rights and its protection, and starts the other client. */
  async prepare(): Promise<void> {
    this.timeline.heading("A controller with 64 workers without backoff, and another client whose latency is measured");
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

  /** Removes the rights, and watches until everything is normal again. */
  async play(): Promise<string> {
    const alone = await this.measure(QUIET_MS);
    this.tellOther("alone", alone);
    const times = await this.loseRights();
    const beside = await this.measure(QUIET_MS);
    this.tellOther("while the flow is throttled", beside);
    await this.release();
    this.timeline.heading("The other client's latency (p99), one row per two seconds, on a logarithmic scale");
    this.timeline.quote(this.plot.draw(this.other?.seconds ?? []));
    return `Healed: the flood was reported after ${times.reportedAfter.toFixed(1)} s, throttled after ${times.throttledAfter.toFixed(1)} s, and released when its throttle was over.`;
  }

  /** The controller loops on 403 until it is throttled. Returns when this was first seen. */
  async loseRights(): Promise<RunawayTimes> {
    this.timeline.heading(
      "Failure: the controller's RoleBinding is deleted: each request is answered 403, and it retries at once",
    );
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

  /** The rights are restored; then the throttle and the probation end by themselves. */
  async release(): Promise<void> {
    this.timeline.heading("The controller's RoleBinding is restored");
    const { namespace } = this;
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: NAME };
    const subjects = [{ kind: "ServiceAccount", namespace, name: NAME }];
    const metadata = { namespace, name: NAME };
    const apiVersion = "rbac.authorization.k8s.io/v1";
    await this.client.apply([{ apiVersion, kind: "RoleBinding", metadata, roleRef, subjects }]);
    this.mark("rights back");
    await this.until("the flow to be on probation", async () => (await this.tell())?.state === "Probation");
    this.mark("released");
    await this.until("the flow to be normal", async () => (await this.tell())?.state === "Normal");
    this.mark("normal");
  }

  /** Measures the other client from now on. */
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

  /** Prints the flow, the object and its Events as kubectl does. */
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

  /** Deletes what prepare() created. */
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

  /** Prints the condition and the flow's state. */
  private async tell(): Promise<FlowStatus | undefined> {
    const { status } = await this.client.resilience(this.namespace, NAME);
    this.teller.tell(status?.conditions?.find(({ type }) => type === "FlowsIsolated"));
    const flow = status?.flows?.find(({ serviceAccount }) => serviceAccount === NAME);
    if (flow?.state !== undefined) {
      const tone = flow.state === "Normal" ? "good" : "busy";
      this.timeline.state("flow", describeFlow(flow), tone);
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

/** Status names the new level before the state: the next pass begins the probation. */
function describeFlow({ state, priorityLevel = "?" }: FlowStatus): string {
  const isReleased = state === "Throttled" && priorityLevel !== QUARANTINE_LEVEL;
  return isReleased ? `released to level ${priorityLevel}` : `${state ?? "?"}, on level ${priorityLevel}`;
}

interface Mark {
  readonly atMs: number;
  readonly what: string;
}

const WIDTH = 48;
const EVERY_SECONDS = 2;

/** A client's latency over time: one row per two seconds, with marks for events. */
class LatencyPlot {
  private readonly marks: Mark[] = [];

  /** Adds a mark; time in milliseconds since the epoch. */
  mark(atMs: number, what: string): void {
    this.marks.push({ atMs, what });
  }

  /** Draws the rows. The scale is logarithmic, since a flood makes latency a hundred times worse. */
  draw(seconds: readonly Second[]): string {
    const rows = seconds
      .filter((_, index) => index % EVERY_SECONDS === 0)
      .map((first, index) => this.row(seconds, first, index));
    const values = rows.map(({ p99Ms }) => p99Ms).filter(Number.isFinite);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const scale = (ms: number): number => (most > least ? Math.log(ms / least) / Math.log(most / least) : 0);
    return rows
      .map(({ atSeconds, p99Ms, marks }) => {
        const length = Number.isFinite(p99Ms) ? 1 + Math.round((WIDTH - 1) * scale(p99Ms)) : 0;
        const figure = Number.isFinite(p99Ms) ? `${p99Ms.toFixed(1)} ms` : "no answer";
        return `${`${atSeconds} s`.padStart(6)} ${"█".repeat(length).padEnd(WIDTH)} ${figure.padStart(9)}  ${marks}`.trimEnd();
      })
      .join("\n");
  }

  private row(
    seconds: readonly Second[],
    first: Second,
    index: number,
  ): { atSeconds: number; p99Ms: number; marks: string } {
    const within = seconds.slice(index * EVERY_SECONDS, (index + 1) * EVERY_SECONDS);
    const toMs = within.at(-1)?.toMs ?? first.toMs;
    const p99s = within.map(({ latencies }) => latencies.quantile(0.99)).filter(Number.isFinite);
    const marks = this.marks.filter(({ atMs }) => atMs >= first.fromMs && atMs < toMs).map(({ what }) => `<- ${what}`);
    const zeroMs = this.marks[0]?.atMs ?? first.fromMs;
    return { atSeconds: Math.round((first.fromMs - zeroMs) / 1000), p99Ms: Math.max(...p99s), marks: marks.join(" ") };
  }
}
