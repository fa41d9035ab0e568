// Demonstrates shorter tokens: a real kube-scheduler in a DaemonSet, whose token is valid for a year, and for ten minutes on the first node once it
// is protected. The other nodes follow after the life of that token, for which the demonstration does not wait.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ClusterClient, isReady, type Pod } from "../cluster/client";
import { kubeScheduler, type SchedulerOptions } from "../controllers/kube-scheduler";
import { type ContainerRef, type MountedToken, TOKEN_FOLDER, tokenIn } from "../controllers/token-agent";
import type { DemoCluster } from "./cluster";
import type { Play } from "./scenario";
import { ConditionTeller, quoteKubectl, quoteObject } from "./telling";
import type { Timeline } from "./timeline";

const NAME = "my-agent";
const NAMESPACE = "token-lifetime";
const SHELL = "shell";
/** The published image of kube-scheduler has no shell; the image of the lab has one. */
const PUBLISHED_SHELL = "registry.k8s.io/e2e-test-images/agnhost:2.53";
const SPEC = { targets: [{ kind: "DaemonSet", name: NAME }], tokenLifetime: {} };
const ASKED_SECONDS = 600;
/** Time limit, much longer than any healthy run; then the demonstration fails and prints what it saw. */
const PATIENCE_MS = 240_000;

/** Runs the scenario on one cluster and prints it on one timeline. */
export class TokenLifetime implements Play {
  private readonly options: SchedulerOptions;
  private readonly client: ClusterClient;
  private readonly teller: ConditionTeller;

  constructor(
    cluster: DemoCluster,
    private readonly timeline: Timeline,
  ) {
    this.client = new ClusterClient(cluster.kubectl);
    this.teller = new ConditionTeller(timeline);
    const image = cluster.schedulerImage;
    const shellImage = image.startsWith("registry.k8s.io/") ? PUBLISHED_SHELL : image;
    const command = ["sh", "-c", "while sleep 5; do :; done"];
    const shell = { name: SHELL, image: shellImage, imagePullPolicy: "IfNotPresent", command };
    this.options = { namespace: NAMESPACE, name: NAME, image, kind: "DaemonSet", beside: [shell] };
  }

  /** Creates the DaemonSet, with the default token. */
  async prepare(): Promise<void> {
    this.timeline.heading("A DaemonSet: kube-scheduler with leader election, and a second container with a shell");
    await this.client.createNamespace(NAMESPACE);
    await this.client.apply(kubeScheduler(this.options));
    await this.until("the scheduler to lead", async () => (await this.leaseHolder()) !== "");
    for (const pod of await this.until("the DaemonSet's pods to be Ready", () => this.readyPods())) {
      this.timeline.say("pod", `${pod.metadata.name} is Ready`, "good");
      this.timeline.say("token", await this.describeYear(pod), "bad");
    }
  }

  /** Bounds the tokens, and uses one of them. */
  async play(): Promise<string> {
    const before = await this.client.daemonSet(NAMESPACE, NAME);
    const old = await this.readyPods();
    if (old === undefined) throw new Error("the DaemonSet's pods are no longer Ready");
    this.timeline.heading("A ControllerResilience bounds the life of its tokens");
    this.timeline.quote(JSON.stringify(SPEC));
    await this.client.protect(NAMESPACE, NAME, SPEC);
    this.timeline.setZero();
    this.timeline.say("you", `created ControllerResilience ${NAMESPACE}/${NAME}`);
    await this.until("the first token to be shorter", () => this.isOnTrial(before.metadata.generation, old));
    const seconds = this.timeline.seconds;
    const [pod] = await this.newPods(old);
    await this.tellTokens(pod!);
    await this.use(pod!);
    const holder = await this.until("a pod to lead", async () => {
      const now = await this.leaseHolder();
      return (await this.client.pods(NAMESPACE)).some(({ metadata }) => now.startsWith(metadata.name)) && now;
    });
    this.timeline.say("pod", `${holder.split("_")[0] ?? holder} leads`, "good");
    return `On trial after ${seconds.toFixed(1)} s: a stolen token of the first node is now valid for ten minutes at most, no longer for a year.`;
  }

  /** Prints the added volume, the object and its conditions as kubectl does. */
  async show(): Promise<void> {
    const volume = '{range .spec.template.spec.volumes[?(@.projected)]}{.name}: {.projected}{"\\n"}{end}';
    const args = ["get", "daemonset", NAME, "-n", NAMESPACE, "-o", `jsonpath=${volume}`];
    await quoteKubectl(this.client, this.timeline, args);
    await quoteObject(this.client, this.timeline, { namespace: NAMESPACE, name: NAME });
  }

  /** Deletes what prepare() created. */
  async cleanUp(): Promise<void> {
    const objects = kubeScheduler(this.options) as { kind: string; metadata: { name: string } }[];
    const bindings = objects.filter(({ kind }) => kind === "ClusterRoleBinding").map(({ metadata }) => metadata.name);
    await this.client.deleteNamespace(NAMESPACE);
    await this.client.output(["delete", "clusterrolebinding", ...bindings, "--ignore-not-found"]);
  }

  private async describeYear(pod: Pod): Promise<string> {
    const { claims, lifeSeconds } = await this.token(pod);
    const { warnafter } = claims["kubernetes.io"];
    if (lifeSeconds <= ASKED_SECONDS) throw new Error(`the default token is already limited to ${lifeSeconds} s`);
    const asked = warnafter === undefined ? "" : `requested for ${warnafter - claims.iat} s, but `;
    return `${asked}the API server accepts it for ${lifeSeconds} s (${Math.round(lifeSeconds / 86_400)} days)`;
  }

  /** Prints each change; returns whether the first pod has a shorter token and works. */
  private async isOnTrial(generation: number, old: readonly Pod[]): Promise<boolean> {
    const condition = await this.client.condition(NAMESPACE, NAME, "TokenLifetimeBounded");
    this.teller.tell(condition);
    const { metadata } = await this.client.daemonSet(NAMESPACE, NAME);
    if (metadata.generation > generation) {
      const times = metadata.generation - generation;
      this.timeline.say("daemonset", `the pod template was changed ${times === 1 ? "once" : `${times} times`}`, "busy");
    }
    for (const pod of await this.client.pods(NAMESPACE)) this.tellPod(pod, old);
    return condition?.reason === "Rolling" && (await this.isOneReplaced(old));
  }

  private tellPod(pod: Pod, old: readonly Pod[]): void {
    const { name, uid, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) this.timeline.say("pod", `${name} is terminating`, "busy");
    if (old.some(({ metadata }) => metadata.uid === uid)) return;
    this.timeline.say("pod", `${name} is created`, "busy");
    if (isReady(pod)) this.timeline.say("pod", `${name} is Ready`, "good");
  }

  private async isOneReplaced(old: readonly Pod[]): Promise<boolean> {
    return (await this.readyPods()) !== undefined && (await this.newPods(old)).length > 0;
  }

  private async tellTokens(pod: Pod): Promise<void> {
    const volumes = pod.spec.volumes?.map(({ name }) => name) ?? [];
    if (volumes.some(name => name.startsWith("kube-api-access")))
      throw new Error(`${pod.metadata.name} still has the default token`);
    const { claims, lifeSeconds } = await this.token(pod);
    if (lifeSeconds > ASKED_SECONDS || claims["kubernetes.io"].pod?.uid !== pod.metadata.uid)
      throw new Error(`the token in ${pod.metadata.name} is valid for ${lifeSeconds} s`);
    this.timeline.say("token", `the token in ${pod.metadata.name} is valid for ${lifeSeconds} s`, "good");
  }

  /** Sends requests with only the token and the ca.crt of the pod. */
  private async use(pod: Pod): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), "controller-resilience-token-"));
    try {
      const kubeconfig = join(folder, "kubeconfig");
      writeFileSync(kubeconfig, await this.kubeconfigOf(pod), { mode: 0o600 });
      const as = ["--kubeconfig", kubeconfig, "--context", "pod"];
      const me = JSON.parse(await this.client.output([...as, "auth", "whoami", "-o", "json"])) as WhoAmI;
      const { username, extra } = me.status.userInfo;
      const [of = "?"] = extra?.["authentication.kubernetes.io/pod-name"] ?? [];
      if (of !== pod.metadata.name)
        throw new Error(`the API server identified the token as that of ${username} in pod ${of}`);
      this.timeline.say("request", `with this token, the API server identifies ${username} in pod ${of}`, "good");
      await this.client.output([...as, "get", "lease", NAME, "-n", NAMESPACE]);
      this.timeline.say("request", `with this token, Lease ${NAMESPACE}/${NAME} can be read, as before`, "good");
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  private async kubeconfigOf(pod: Pod): Promise<string> {
    const view = await this.client.output(["config", "view", "--minify", "-o", "json"]);
    const { server } = (JSON.parse(view) as { clusters: { cluster: { server: string } }[] }).clusters[0]!.cluster;
    const authority = await this.client.exec(this.shellOf(pod), ["cat", `${TOKEN_FOLDER}/ca.crt`]);
    const { text: token } = await this.token(pod);
    const cluster = { server, "certificate-authority-data": Buffer.from(authority).toString("base64") };
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "pod", cluster }],
      users: [{ name: "pod", user: { token } }],
      contexts: [{ name: "pod", context: { cluster: "pod", user: "pod" } }],
    });
  }

  private token(pod: Pod): Promise<MountedToken> {
    return tokenIn(this.client, this.shellOf(pod));
  }

  private shellOf(pod: Pod): ContainerRef {
    return { namespace: NAMESPACE, pod: pod.metadata.name, container: SHELL };
  }

  private async newPods(old: readonly Pod[]): Promise<Pod[]> {
    const gone = new Set(old.map(({ metadata }) => metadata.uid));
    return (await this.client.pods(NAMESPACE)).filter(({ metadata }) => !gone.has(metadata.uid));
  }

  /** Returns all pods once each is Ready and none is terminating. */
  private async readyPods(): Promise<Pod[] | undefined> {
    const pods = await this.client.pods(NAMESPACE);
    const areReady = pods.every(pod => isReady(pod) && pod.metadata.deletionTimestamp === undefined);
    return pods.length > 0 && areReady ? pods : undefined;
  }

  private async leaseHolder(): Promise<string> {
    const args = ["get", "lease", NAME, "-n", NAMESPACE, "-o", "jsonpath={.spec.holderIdentity}"];
    return (await this.client.kubectl(args)).stdout.trim();
  }

  private until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
    return this.client.until(what, look, PATIENCE_MS);
  }
}

/** Output of `kubectl auth whoami`. */
interface WhoAmI {
  readonly status: {
    readonly userInfo: { readonly username: string; readonly extra?: Readonly<Record<string, readonly string[]>> };
  };
}
