// Demonstrates evidence from Events: the credential that a CNI agent left on its node is rejected, so no pod can start there.
import { setTimeout as sleep } from "node:timers/promises";
import type { StatusCondition } from "../../src/api/controller-resilience";
import { ClusterClient, isReady, type Pod } from "../cluster/client";
import { chainPlugin, cniAgent, pluginAccount, unchainPlugin, type CniAgentOptions } from "../controllers/cni-agent";
import { nodeControllerImage } from "../controllers/images";
import { smallController } from "../controllers/small-controller";
import type { Lab } from "../lab";
import type { DemoCluster } from "./cluster";
import type { Play } from "./scenario";
import { ConditionTeller, quoteObject } from "./telling";
import type { Timeline } from "./timeline";

const NAME = "my-network";
const SHOP = "cni-credential-shop";
/** The operator acts once pods of two namespaces cannot start. */
const BANK = "cni-credential-bank";
const APP = "web";
/** The API server caches for up to 10 s that a token was valid; until then pods still start. */
const REMEMBERED_MS = 11_000;
/** Time limit, much longer than any healthy run; then the demonstration fails and prints what it saw. */
const PATIENCE_MS = 360_000;

const SPEC = { targets: [{ kind: "DaemonSet", name: NAME }], tokenRestart: {} };

/** Runs the scenario on a lab, since it changes how the node's pods get their network. */
export class CniCredential implements Play {
  private readonly client: ClusterClient;
  private readonly lab: Lab;
  private readonly teller: ConditionTeller;
  private image = "";

  constructor(
    cluster: DemoCluster,
    private readonly timeline: Timeline,
    private readonly namespace = "cni-credential",
  ) {
    if (cluster.lab === undefined)
      throw new Error("this demonstration changes how a node's pods get their network, so it runs only in its own lab");
    this.lab = cluster.lab;
    this.client = new ClusterClient(cluster.kubectl);
    this.teller = new ConditionTeller(timeline);
  }

  /** Creates the agent, the plugin, and the object that protects them. */
  async prepare(): Promise<void> {
    this.timeline.heading("A network plugin: its agent, a DaemonSet, writes the plugin's credential to the node");
    const image = await nodeControllerImage();
    await this.lab.loadImage(image.tar);
    this.image = image.reference;
    for (const name of [this.namespace, SHOP, BANK]) await this.client.createNamespace(name);
    await this.client.apply(cniAgent(this.agent));
    const [pod] = await this.client.readyPods(this.namespace, NAME);
    await chainPlugin(this.lab);
    this.timeline.say("pod", `${pod?.metadata.name ?? "?"} is Ready`, "good");
    await this.client.protect(this.namespace, NAME, SPEC);
    this.timeline.quote(JSON.stringify(SPEC));
    await this.until("condition TokensAccepted to be True", async () => (await this.condition())?.status === "True");
    await this.tellCondition();
  }

  /** Breaks the credential, and watches until the node is healed. */
  async play(): Promise<string> {
    const { evictedAfter, startedAfter } = await this.breakAndWatch();
    return `Healed: the agent's pod was replaced ${evictedAfter.toFixed(1)} s after its credential became invalid, and the waiting pod was Ready after ${startedAfter.toFixed(1)} s.`;
  }

  /** Returns the seconds until the agent's pod was replaced, and until the waiting pod was Ready. */
  async breakAndWatch(): Promise<{ evictedAfter: number; startedAfter: number }> {
    const [before] = await this.client.readyPods(this.namespace, NAME);
    this.timeline.heading(
      "Failure: the ServiceAccount of the credential is recreated, so the credential becomes invalid",
    );
    await this.client.recreateServiceAccount(this.namespace, pluginAccount({ name: NAME }));
    this.timeline.setZero();
    this.timeline.say("you", `recreated ServiceAccount ${this.namespace}/${pluginAccount({ name: NAME })}`);
    let evictedAfter: number | undefined;
    let startedAfter: number | undefined;
    await sleep(REMEMBERED_MS);
    for (const namespace of [SHOP, BANK]) await this.startApp(namespace);
    await this.until("the node to be healed", async () => {
      await Promise.all([this.tellCondition(), this.tellEvents(), this.tellFailures()]);
      evictedAfter ??= await this.agentIsReplaced(before);
      startedAfter ??= await this.appIsReady();
      return evictedAfter !== undefined && startedAfter !== undefined && (await this.recovered());
    });
    await this.tellCondition();
    return { evictedAfter: evictedAfter ?? NaN, startedAfter: startedAfter ?? NaN };
  }

  /** Prints the conditions as kubectl does. */
  async show(): Promise<void> {
    await quoteObject(this.client, this.timeline, { namespace: this.namespace, name: NAME });
  }

  /** Deletes what prepare() created. */
  async cleanUp(): Promise<void> {
    unchainPlugin(this.lab);
    for (const name of [this.namespace, SHOP, BANK]) await this.client.deleteNamespace(name);
  }

  private get agent(): CniAgentOptions {
    return { namespace: this.namespace, name: NAME, image: this.image };
  }

  /** Creates a Deployment of another team. */
  private async startApp(namespace: string): Promise<void> {
    const command = ["node", "/app/controller.js"];
    await this.client.apply(smallController({ namespace, name: APP, image: this.image, command }));
    this.timeline.say("you", `started Deployment ${namespace}/${APP}, as another team might at any time`);
  }

  private async tellFailures(): Promise<void> {
    const text = await this.client.output(["get", "events", "-n", SHOP, "-o", "json"]);
    const { items } = JSON.parse(text) as { items: { reason: string; message: string }[] };
    const failed = items.filter(({ reason }) => reason === "FailedCreatePodSandBox");
    const [first] = failed;
    if (first !== undefined) {
      const cause = first.message.replace(/^.*failed \(add\): /, "");
      this.timeline.say("kubelet", `FailedCreatePodSandBox: ... ${cause}`, "bad");
      this.timeline.say("pod", "the agent stays Ready and logs nothing", "plain");
    }
    if (failed.length >= 3) this.timeline.say("kubelet", "at least three such failures", "bad");
  }

  private async tellCondition(): Promise<void> {
    this.teller.tell(await this.condition());
  }

  private async tellEvents(): Promise<void> {
    for (const { involvedObject, reason, message } of await this.client.events(this.namespace)) {
      if (involvedObject.kind !== "Pod") continue;
      this.timeline.say("event", `${reason} on ${involvedObject.kind} ${involvedObject.name}: ${message}`, "busy");
    }
  }

  private async agentIsReplaced(before: Pod | undefined): Promise<number | undefined> {
    const after = (await this.client.pods(this.namespace, NAME)).find(
      pod => pod.metadata.uid !== before?.metadata.uid && isReady(pod),
    );
    if (after === undefined) return undefined;
    this.timeline.say("pod", `${after.metadata.name} is Ready and has written a new credential`, "good");
    return this.timeline.seconds;
  }

  private async appIsReady(): Promise<number | undefined> {
    const pods = await this.client.pods(SHOP, APP);
    if (pods.length !== 1 || !pods.every(isReady)) return undefined;
    this.timeline.say("pod", `${pods[0]?.metadata.name ?? "?"}, which could not start before, is Ready`, "good");
    return this.timeline.seconds;
  }

  private async recovered(): Promise<boolean> {
    const last = (await this.client.resilience(this.namespace, NAME)).status?.restarts?.at(-1);
    if (last === undefined) return false;
    const isGood = last.outcome === "Recovered";
    this.timeline.say("status", `restart of ${last.pod}: ${last.cause}, ${last.outcome}`, isGood ? "good" : "busy");
    return isGood && (await this.condition())?.status === "True";
  }

  private condition(): Promise<StatusCondition | undefined> {
    return this.client.condition(this.namespace, NAME, "TokensAccepted");
  }

  private async until(what: string, done: () => Promise<boolean>): Promise<void> {
    await this.client.until(what, done, PATIENCE_MS);
  }
}
