// Demonstrates token restarts: the ServiceAccount of a real kube-scheduler is recreated, so all its requests are answered 401.
import type { ControllerResilienceStatus, StatusCondition } from "../../src/api/controller-resilience";
import { classify } from "../../src/logs/classifier/classify";
import { ClusterClient, isReady, type Pod } from "../cluster/client";
import { clusterRoleBindingsOf, kubeScheduler, type SchedulerOptions } from "../controllers/kube-scheduler";
import type { DemoCluster } from "./cluster";
import type { Timeline } from "./timeline";

const NAMESPACE = "stale-token";
const NAME = "my-scheduler";
/** The object that protects the controller. */
const SPEC = { targets: [{ kind: "Deployment", name: NAME }], tokenRestart: {} };
/** Time limit, much longer than any healthy run; then the demonstration fails and prints what it saw. */
const PATIENCE_MS = 240_000;
const TONES = { True: "good", False: "bad", Unknown: "busy" } as const;

/** Runs the scenario on one cluster and prints it on one timeline. */
export class StaleToken {
  private readonly options: SchedulerOptions;
  private readonly client: ClusterClient;
  /** The controller has logged a 401. */
  private isRejected = false;

  constructor(
    cluster: DemoCluster,
    private readonly timeline: Timeline,
  ) {
    this.client = new ClusterClient(cluster.kubectl);
    this.options = { namespace: NAMESPACE, name: NAME, image: cluster.schedulerImage };
  }

  /** Creates the controller and the object that protects it. */
  async prepare(): Promise<void> {
    this.timeline.heading("A controller to protect: a Deployment of kube-scheduler with leader election");
    await this.client.createNamespace(NAMESPACE);
    await this.client.apply(kubeScheduler(this.options));
    await this.client.protect(NAMESPACE, NAME, SPEC);
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

  /** Breaks the controller, and watches until it is healed. Returns the closing sentence; throws if an expected step was not seen. */
  async play(): Promise<string> {
    const before = await this.runningPod();
    if (!before) throw new Error("the scheduler has no running pod");
    const oldHolder = await this.leaseHolder();
    this.timeline.heading(
      "Failure: the controller's ServiceAccount is deleted and created again, as when a chart is reinstalled",
    );
    await this.client.recreateServiceAccount(NAMESPACE, NAME);
    this.timeline.setZero();
    this.timeline.say("you", `recreated ServiceAccount ${NAMESPACE}/${NAME}`);
    let readyAfter: number | undefined;
    await this.until("the scheduler to be healed", async () => {
      await Promise.all([this.tellLog(before), this.tellCondition(), this.tellEvents()]);
      readyAfter = await this.tellPods(before, readyAfter);
      const led = await this.leaseHolder();
      if (led !== "" && led !== oldHolder) this.timeline.say("pod", "the new pod leads: its token is accepted", "good");
      return readyAfter !== undefined && led !== oldHolder && (await this.recovered());
    });
    await this.tellCondition();
    const confirmed = this.timeline.seconds.toFixed(1);
    return `Healed: the new pod was Ready ${(readyAfter ?? NaN).toFixed(1)} s after its ServiceAccount was recreated, and its recovery was confirmed after ${confirmed} s.`;
  }

  /** Prints the object, its conditions, and the Events of all objects with its name, as kubectl does. */
  async show(): Promise<void> {
    const conditions = '{range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\\n"}{end}';
    for (const args of [
      ["get", "cres", NAME, "-n", NAMESPACE],
      ["get", "cres", NAME, "-n", NAMESPACE, "-o", `jsonpath=${conditions}`],
      ["get", "events", "-n", NAMESPACE, "--field-selector", `involvedObject.name=${NAME}`],
    ]) {
      this.timeline.heading(`$ kubectl ${args.map(arg => (/[\s{]/.test(arg) ? `'${arg}'` : arg)).join(" ")}`);
      this.timeline.quote(await this.client.output(args));
    }
  }

  /** Deletes what prepare() created, also after a failure. */
  async cleanUp(): Promise<void> {
    const bindings = clusterRoleBindingsOf(this.options);
    await this.client.deleteNamespace(NAMESPACE);
    await this.client.output(["delete", "clusterrolebinding", ...bindings, "--ignore-not-found"]);
  }

  private async tellLog(pod: Pod): Promise<void> {
    const { code, stdout } = await this.client.kubectl(["logs", "-n", NAMESPACE, pod.metadata.name, "--tail=400"]);
    if (code !== 0) return;
    const rejected = stdout.split("\n").filter(line => classify(line) === "unauthorized");
    if (rejected.length > 0) this.timeline.say("log", "the controller logs its first 401", "bad");
    this.isRejected ||= rejected.length > 0;
    if (rejected.length >= 10) this.timeline.say("log", "the controller has logged at least ten 401s", "bad");
  }

  private async tellCondition(): Promise<void> {
    const condition = await this.condition("TokensAccepted");
    if (condition === undefined) return;
    const { type, status, reason, message } = condition;
    // Messages contain changing numbers.
    this.timeline.state("condition", `${type}=${status} ${reason}: ${message}`, TONES[status], `${status} ${reason}`);
  }

  private async tellEvents(): Promise<void> {
    for (const { involvedObject, reason, message } of await this.client.events(NAMESPACE)) {
      if (involvedObject.kind !== "Pod") continue;
      this.timeline.say("event", `${reason} on ${involvedObject.kind} ${involvedObject.name}: ${message}`, "busy");
    }
  }

  private async tellPods(before: Pod, readyAfter: number | undefined): Promise<number | undefined> {
    for (const pod of await this.client.pods(NAMESPACE)) {
      if (pod.metadata.uid === before.metadata.uid) {
        if (pod.metadata.deletionTimestamp) this.timeline.say("pod", `${pod.metadata.name} is terminating`, "busy");
        else if (this.isRejected && isReady(pod))
          this.timeline.say("pod", `${pod.metadata.name} stays Running and Ready`, "bad");
        continue;
      }
      this.timeline.say("pod", `${pod.metadata.name} replaces it, with a new token`, "busy");
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
    return (await this.client.resilience(NAMESPACE, NAME)).status ?? {};
  }

  private condition(type: string): Promise<StatusCondition | undefined> {
    return this.client.condition(NAMESPACE, NAME, type);
  }

  private async leaseHolder(): Promise<string> {
    const lease = ["get", "lease", NAME, "-n", NAMESPACE];
    return (await this.client.kubectl([...lease, "-o", "jsonpath={.spec.holderIdentity}"])).stdout.trim();
  }

  private async runningPod(): Promise<Pod | undefined> {
    return (await this.client.pods(NAMESPACE)).find(
      pod => pod.status.phase === "Running" && !pod.metadata.deletionTimestamp,
    );
  }

  private async until(what: string, done: () => Promise<boolean>): Promise<void> {
    await this.client.until(what, done, PATIENCE_MS);
  }
}
