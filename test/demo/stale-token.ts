// The demonstration: a real kube-scheduler whose ServiceAccount is recreated, which is how a controller dies without a word.
import type { ControllerResilienceStatus, StatusCondition } from "../../src/api/controller-resilience";
import { classify } from "../../src/logs/classifier/index";
import { ClusterClient, isReady, type Pod } from "../cluster/client";
import { kubeScheduler, type SchedulerOptions } from "../controllers/kube-scheduler";
import type { DemoCluster } from "./cluster";
import type { Play } from "./scenario";
import { ConditionTeller, quoteObject } from "./telling";
import type { Timeline } from "./timeline";

const NAME = "my-scheduler";
/** Longer than any healthy run by far; then it says what it saw and fails. */
const PATIENCE_MS = 240_000;

const SPEC = { targets: [{ kind: "Deployment", name: NAME }], tokenRestart: {} };

/** Plays the scenario on one cluster and shows it on one timeline. */
export class StaleToken implements Play {
  private readonly options: SchedulerOptions;
  private readonly client: ClusterClient;
  private readonly teller: ConditionTeller;

  constructor(
    cluster: DemoCluster,
    private readonly timeline: Timeline,
    private readonly namespace = "stale-token",
  ) {
    this.client = new ClusterClient(cluster.kubectl);
    this.teller = new ConditionTeller(timeline);
    this.options = { namespace, name: NAME, image: cluster.schedulerImage };
  }

  /** The controller and the object that protects it. */
  async prepare(): Promise<void> {
    this.timeline.heading("A controller to protect: kube-scheduler, with leader election, in a Deployment of its own");
    await this.client.createNamespace(this.namespace);
    await this.client.apply(kubeScheduler(this.options));
    await this.client.protect(this.namespace, NAME, SPEC);
    await this.until("the scheduler to lead", async () => (await this.leaseHolder()) !== "");
    const pod = await this.runningPod();
    this.timeline.say("pod", `${pod?.metadata.name ?? "?"} is running and leads`, "good");
    this.timeline.quote(JSON.stringify(SPEC));
    await this.until(
      "condition TokensAccepted to be True",
      async () => (await this.condition("TokensAccepted"))?.status === "True",
    );
    await this.tellCondition();
  }

  /** Breaks it and watches until it is healed. */
  async play(): Promise<string> {
    const seconds = await this.breakAndWatch();
    const confirmed = this.timeline.seconds.toFixed(1);
    return `Healed: the new pod was Ready ${seconds.toFixed(1)} s after its ServiceAccount was recreated, and known to be well after ${confirmed} s.`;
  }

  /** Returns the seconds until the new pod was Ready. */
  async breakAndWatch(): Promise<number> {
    const before = await this.runningPod();
    if (!before) throw new Error("the scheduler has no running pod");
    const oldHolder = await this.leaseHolder();
    this.timeline.heading("Its ServiceAccount is deleted and created again, as a reinstalled chart does");
    await this.client.recreateServiceAccount(this.namespace, NAME);
    this.timeline.setZero();
    this.timeline.say("you", `recreated ServiceAccount ${this.namespace}/${NAME}`);
    let readyAfter: number | undefined;
    await this.until("the scheduler to be healed", async () => {
      await Promise.all([this.tellLog(before), this.tellCondition(), this.tellEvents()]);
      readyAfter = await this.tellPods(before, readyAfter);
      const led = await this.leaseHolder();
      if (led !== "" && led !== oldHolder) this.timeline.say("pod", "the new pod leads: its token is accepted", "good");
      return readyAfter !== undefined && led !== oldHolder && (await this.recovered());
    });
    await this.tellCondition();
    return readyAfter ?? NaN;
  }

  /** The conditions as kubectl prints them. */
  async show(): Promise<void> {
    await quoteObject(this.client, this.timeline, { namespace: this.namespace, name: NAME });
  }

  /** Takes away what prepare() made. */
  async cleanUp(): Promise<void> {
    const objects = kubeScheduler(this.options) as { kind: string; metadata: { name: string } }[];
    const bindings = objects.filter(({ kind }) => kind === "ClusterRoleBinding").map(({ metadata }) => metadata.name);
    await this.client.deleteNamespace(this.namespace);
    await this.client.output(["delete", "clusterrolebinding", ...bindings, "--ignore-not-found"]);
  }

  private async tellLog(pod: Pod): Promise<void> {
    const { code, stdout } = await this.client.kubectl(["logs", "-n", this.namespace, pod.metadata.name, "--tail=400"]);
    if (code !== 0) return;
    const rejected = stdout.split("\n").filter(line => classify(line) === "unauthorized");
    if (rejected.length > 0)
      this.timeline.say("log", "the first 401 of its own requests; the pod stays Running", "bad");
    if (rejected.length >= 10) this.timeline.say("log", "ten of them and more", "bad");
  }

  private async tellCondition(): Promise<void> {
    this.teller.tell(await this.condition("TokensAccepted"));
  }

  private async tellEvents(): Promise<void> {
    for (const { involvedObject, reason, message } of await this.client.events(this.namespace)) {
      if (involvedObject.kind !== "Pod") continue;
      this.timeline.say("event", `${reason} on ${involvedObject.kind} ${involvedObject.name}: ${message}`, "busy");
    }
  }

  private async tellPods(before: Pod, readyAfter: number | undefined): Promise<number | undefined> {
    for (const pod of await this.client.pods(this.namespace)) {
      if (pod.metadata.uid === before.metadata.uid) {
        if (pod.metadata.deletionTimestamp) this.timeline.say("pod", `${pod.metadata.name} is going`, "busy");
        continue;
      }
      this.timeline.say("pod", `${pod.metadata.name} is its successor, with a new token`, "busy");
      if (!isReady(pod)) continue;
      const seconds = readyAfter ?? this.timeline.seconds;
      this.timeline.say("pod", `${pod.metadata.name} is Ready`, "good");
      return seconds;
    }
    return readyAfter;
  }

  private async recovered(): Promise<boolean> {
    const status = await this.status();
    const last = status.restarts?.at(-1);
    if (last)
      this.timeline.say(
        "status",
        `restart of ${last.pod}: ${last.cause}, ${last.outcome}`,
        last.outcome === "Recovered" ? "good" : "busy",
      );
    return last?.outcome === "Recovered" && (await this.condition("TokensAccepted"))?.status === "True";
  }

  private async status(): Promise<ControllerResilienceStatus> {
    return (await this.client.resilience(this.namespace, NAME)).status ?? {};
  }

  private condition(type: string): Promise<StatusCondition | undefined> {
    return this.client.condition(this.namespace, NAME, type);
  }

  private async leaseHolder(): Promise<string> {
    const { stdout } = await this.client.kubectl([
      "get",
      "lease",
      NAME,
      "-n",
      this.namespace,
      "-o",
      "jsonpath={.spec.holderIdentity}",
    ]);
    return stdout.trim();
  }

  private async runningPod(): Promise<Pod | undefined> {
    return (await this.client.pods(this.namespace)).find(
      pod => pod.status.phase === "Running" && !pod.metadata.deletionTimestamp,
    );
  }

  private async until(what: string, done: () => Promise<boolean>): Promise<void> {
    await this.client.until(what, done, PATIENCE_MS);
  }
}
