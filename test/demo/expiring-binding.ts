// Demonstrates binding renewal: a real kube-scheduler whose RoleBinding has Kyverno's label and a life of one minute; a twin without protection;
// and a second RoleBinding, which a person revokes.
import type { BindingStatus, StatusCondition } from "../../src/api/controller-resilience";
import { RENEW_ANNOTATION } from "../../src/api/names";
import { ClusterClient, type Binding, type Pod } from "../cluster/client";
import { kubeScheduler, type SchedulerOptions } from "../controllers/kube-scheduler";
import { binding } from "../enforcers/bindings";
import { Enforcer, type Deletion } from "../enforcers/enforcer";
import { dueMs, EXPIRY } from "../enforcers/rules";
import type { DemoCluster } from "./cluster";
import type { DemoOperator } from "./operator";
import type { Play } from "./scenario";
import { ConditionTeller, quoteKubectl, quoteObject } from "./telling";
import type { Timeline } from "./timeline";

const NAME = "my-scheduler";
const EXTRA = "my-scheduler-extra";
const NAMESPACE = "expiring-binding";
const TWIN = "expiring-binding-twin";
const TTL = "60s";
const SPEC = { targets: [{ kind: "Deployment", name: NAME }], bindingRenewal: {} };
/** Time limit, much longer than any healthy run; then the demonstration fails and prints what it saw. */
const PATIENCE_MS = 180_000;
const TELL_EVERY_S = 10;

/** Runs the scenario on one cluster and prints it on one timeline. */
export class ExpiringBinding implements Play {
  private readonly client: ClusterClient;
  private readonly teller: ConditionTeller;
  private readonly image: string;
  private toldSeconds = 0;

  constructor(
    cluster: DemoCluster,
    private readonly timeline: Timeline,
    private readonly operator: DemoOperator,
  ) {
    this.client = new ClusterClient(cluster.kubectl);
    this.teller = new ConditionTeller(timeline);
    this.image = cluster.schedulerImage;
  }

  /** Creates two controllers without a right to their Lease, and the object that protects one of them. */
  async prepare(): Promise<void> {
    this.timeline.heading("Two controllers: two Deployments of kube-scheduler with leader election");
    for (const namespace of [NAMESPACE, TWIN]) {
      await this.client.createNamespace(namespace);
      await this.client.apply(schedulerWithoutLease({ namespace, name: NAME, image: this.image }));
    }
    for (const namespace of [NAMESPACE, TWIN]) {
      const pod = await this.until(`the scheduler in ${namespace} to run`, () => this.runningPod(namespace));
      this.timeline.say("pod", `${namespace}/${pod.metadata.name} is running, without the right to hold its Lease`);
    }
    this.timeline.heading(
      `A ControllerResilience protects the controller in ${NAMESPACE}, but not its twin in ${TWIN}`,
    );
    this.timeline.quote(JSON.stringify(SPEC));
    this.timeline.quote(
      `The installer also grants the operator the right to bind Role ${NAME} in ${NAMESPACE}, and no other role.`,
    );
    await this.operator.letBind({ kind: "Role", name: NAME, namespace: NAMESPACE });
    await this.client.protect(NAMESPACE, NAME, SPEC);
    await this.until("condition BindingsCurrent to be set", () => this.condition());
  }

  /** Waits for more than a minute. */
  async play(): Promise<string> {
    this.timeline.heading(
      `Both get the right to hold their Lease for one minute: RoleBindings with ${EXPIRY.kyverno}: ${TTL} and ${RENEW_ANNOTATION}: "true"`,
    );
    const [kept, extra, twin] = await this.grant();
    this.timeline.setZero();
    const scope = { namespaces: [NAMESPACE, TWIN] };
    const enforcer = Enforcer.start(this.client, scope);
    this.timeline.say("you", `created RoleBindings ${pathOf(kept)}, ${pathOf(extra)} and ${pathOf(twin)}`);
    this.timeline.say("enforcer", `from now on deletes expired RoleBindings in ${scope.namespaces.join(" and ")}`);
    try {
      const leader = await this.bothLead();
      await this.announced();
      await this.revoke(extra);
      await this.renewed(kept, enforcer);
      const deletion = await this.twinGoes(twin, enforcer);
      await this.survives(kept, extra, enforcer);
      await this.stayedUp(leader);
      const seconds = (deletion.deletedMs - Date.parse(twin.metadata.creationTimestamp)) / 1000;
      return `Renewed: the protected controller kept running. The twin's RoleBinding was deleted after ${seconds.toFixed(0)} s; the revoked RoleBinding stayed deleted.`;
    } finally {
      await enforcer.stop();
    }
  }

  /** Prints the bindings and conditions as kubectl does. */
  async show(): Promise<void> {
    for (const namespace of [NAMESPACE, TWIN]) {
      const args = ["get", "rolebindings", "-n", namespace, "-L", EXPIRY.kyverno];
      await quoteKubectl(this.client, this.timeline, args);
    }
    await quoteObject(this.client, this.timeline, { namespace: NAMESPACE, name: NAME });
  }

  /** Deletes what prepare() and play() created. */
  async cleanUp(): Promise<void> {
    for (const namespace of [NAMESPACE, TWIN]) {
      const objects = schedulerWithoutLease({ namespace, name: NAME, image: this.image });
      const ofCluster = objects
        .filter(({ kind }) => kind === "ClusterRoleBinding")
        .map(({ metadata }) => metadata.name);
      await this.client.deleteNamespace(namespace);
      await this.client.output(["delete", "clusterrolebinding", ...ofCluster, "--ignore-not-found"]);
    }
  }

  private async grant(): Promise<[kept: Binding, extra: Binding, twin: Binding]> {
    const labels = { [EXPIRY.kyverno]: TTL };
    const role = { kind: "Role", name: NAME } as const;
    const grants = [
      { namespace: NAMESPACE, name: NAME },
      { namespace: NAMESPACE, name: EXTRA },
      { namespace: TWIN, name: NAME },
    ] as const;
    await this.client.apply(
      grants.map(({ namespace, name }) =>
        binding({ namespace, name, role, labels, serviceAccount: { namespace, name: NAME } }),
      ),
    );
    const [kept, extra, twin] = grants.map(({ namespace, name }) => this.bindingNow(namespace, name));
    return Promise.all([kept!, extra!, twin!]);
  }

  /** Returns the pod of the protected controller. */
  private async bothLead(): Promise<Pod> {
    for (const namespace of [NAMESPACE, TWIN]) {
      await this.until(`the scheduler in ${namespace} to lead`, async () => (await this.leaseHolder(namespace)) !== "");
      this.timeline.say("pod", `the scheduler in ${namespace} holds its Lease`, "good");
    }
    return this.until("the pod of the protected scheduler", () => this.runningPod(NAMESPACE));
  }

  private async announced(): Promise<void> {
    await this.until("the condition ExpiringSoon with status True", async () => {
      const condition = await this.condition();
      return condition?.status === "True" && condition.reason === "ExpiringSoon";
    });
    this.timeline.say("status", `RoleBinding ${NAME} is reported as expiring soon`, "good");
  }

  private async revoke({ metadata: { uid } }: Binding): Promise<void> {
    await this.until("both bindings to be recorded in status", async () => (await this.entry(EXTRA))?.uid === uid);
    if (!(await this.client.deleteBinding("RoleBinding", EXTRA, NAMESPACE))) {
      throw new Error(`RoleBinding ${NAMESPACE}/${EXTRA} was gone before it could be revoked`);
    }
    this.timeline.say("you", `deleted RoleBinding ${NAMESPACE}/${EXTRA} before its expiry: a revocation`);
    await this.until("the state Revoked in status", async () => (await this.entry(EXTRA))?.state === "Revoked");
    await this.condition();
    this.timeline.say("status", `${EXTRA} is Revoked: the operator never recreates it`, "good");
  }

  private async renewed(kept: Binding, enforcer: Enforcer): Promise<void> {
    const now = await this.until(`RoleBinding ${pathOf(kept)} to be renewed`, () => this.later(kept, enforcer));
    const [from, to] = [kept, now].map(({ metadata }) => metadata.labels?.[EXPIRY.kyverno] ?? "nothing");
    this.timeline.say("binding", `${pathOf(kept)} is renewed: ${EXPIRY.kyverno} was ${from}, now ${to}`, "good");
    await this.until("an Event BindingRenewed on the binding", async () => {
      const events = (await this.client.events(NAMESPACE)).filter(({ reason }) => reason === "BindingRenewed");
      for (const { involvedObject, message } of events) {
        this.timeline.say(
          "event",
          `BindingRenewed on ${involvedObject.kind} ${involvedObject.name}: ${message}`,
          "good",
        );
      }
      return events.some(({ involvedObject }) => involvedObject.kind === "RoleBinding");
    });
  }

  private async twinGoes(twin: Binding, enforcer: Enforcer): Promise<Deletion> {
    const find = (): Deletion | undefined =>
      enforcer.deletions.find(({ binding: { metadata } }) => metadata.uid === twin.metadata.uid);
    const deletion = await this.until("the enforcer to delete the twin's binding", () => Promise.resolve(find()));
    this.timeline.say(
      "enforcer",
      `deleted RoleBinding ${pathOf(twin)}, since its label says that it has expired`,
      "bad",
    );
    await this.until("the twin to lose its Lease", async () => {
      const [pod] = await this.client.pods(TWIN);
      return (pod?.status.containerStatuses?.[0]?.restartCount ?? 0) > 0;
    });
    this.timeline.say("pod", `the scheduler in ${TWIN} could not renew its Lease and exited`, "bad");
    return deletion;
  }

  /** Waits until after the original expiry of both bindings, and after the next renewal, so that the operator has certainly run again. */
  private async survives(kept: Binding, extra: Binding, enforcer: Enforcer): Promise<void> {
    await enforcer.lookedAfter(Math.max(dueMs(kept), dueMs(extra)));
    await this.condition();
    const survivor = await this.bindingNow(NAMESPACE, NAME);
    this.timeline.say("enforcer", `does not delete ${pathOf(kept)} after its original expiry`, "good");
    const again = await this.until("the second renewal of the RoleBinding", () => this.later(survivor, enforcer));
    if (again.metadata.uid !== kept.metadata.uid) throw new Error(`${pathOf(kept)} is not the original object`);
    this.timeline.say("binding", `${pathOf(kept)} is renewed again, and is still the same object`, "good");
    const state = (await this.entry(EXTRA))?.state;
    if (state !== "Revoked" || (await this.client.binding("RoleBinding", EXTRA, NAMESPACE)) !== undefined) {
      throw new Error(`the revoked RoleBinding ${pathOf(extra)} should stay deleted; its state in status is ${state}`);
    }
    this.timeline.say("binding", `${pathOf(extra)} is still deleted after its original expiry`, "good");
  }

  private async stayedUp(leader: Pod): Promise<void> {
    const pod = await this.until("the protected scheduler's pod", () => this.runningPod(NAMESPACE));
    const restarts = pod.status.containerStatuses?.[0]?.restartCount ?? 0;
    if (pod.metadata.uid !== leader.metadata.uid || restarts > 0) {
      throw new Error(
        `the protected scheduler should have run on; its pod is ${pod.metadata.name}, restarted ${restarts} times`,
      );
    }
    this.timeline.say("pod", `the scheduler in ${NAMESPACE} never stopped`, "good");
  }

  /** Returns the same object if it has a later expiry. */
  private async later(then: Binding, enforcer: Enforcer): Promise<Binding | undefined> {
    if (enforcer.deleted(then.metadata.uid)) throw new Error("the enforcer deleted the protected RoleBinding");
    const now = await this.bindingNow(NAMESPACE, then.metadata.name);
    return now.metadata.uid === then.metadata.uid && dueMs(now) > dueMs(then) ? now : undefined;
  }

  /** Prints the remaining life from time to time, to show progress. */
  private async tellTime(): Promise<void> {
    const { seconds } = this.timeline;
    if (seconds - this.toldSeconds < TELL_EVERY_S) return;
    this.toldSeconds = seconds;
    await this.condition();
    const now = await this.bindingNow(NAMESPACE, NAME);
    const left = (dueMs(now) - Date.now()) / 1000;
    this.timeline.say("clock", `${pathOf(now)} has ${left.toFixed(0)} s left at +${seconds.toFixed(0)}s`);
  }

  private async bindingNow(namespace: string, name: string): Promise<Binding> {
    const now = await this.client.binding("RoleBinding", name, namespace);
    if (now === undefined) throw new Error(`RoleBinding ${namespace}/${name} is gone`);
    return now;
  }

  private async entry(name: string): Promise<BindingStatus | undefined> {
    const { bindings = [] } = (await this.client.resilience(NAMESPACE, NAME)).status ?? {};
    return bindings.find(entry => entry.name === name);
  }

  private async condition(): Promise<StatusCondition | undefined> {
    const condition = await this.client.condition(NAMESPACE, NAME, "BindingsCurrent");
    this.teller.tell(condition);
    return condition;
  }

  private async leaseHolder(namespace: string): Promise<string> {
    const args = ["get", "lease", NAME, "-n", namespace, "-o", "jsonpath={.spec.holderIdentity}"];
    return (await this.client.kubectl(args)).stdout.trim();
  }

  private async runningPod(namespace: string): Promise<Pod | undefined> {
    return (await this.client.pods(namespace)).find(
      pod => pod.status.phase === "Running" && !pod.metadata.deletionTimestamp,
    );
  }

  private until<T>(what: string, look: () => Promise<T | false | undefined>): Promise<T> {
    const lookAndTell = async (): Promise<T | false | undefined> => {
      await this.tellTime();
      return look();
    };
    return this.client.until(what, lookAndTell, PATIENCE_MS);
  }
}

interface Named {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** All objects of the scheduler, without the right to hold its Lease. */
function schedulerWithoutLease(options: SchedulerOptions): Named[] {
  return (kubeScheduler(options) as Named[]).filter(({ kind }) => kind !== "RoleBinding");
}

function pathOf({ metadata: { namespace = "", name } }: Binding): string {
  return `${namespace}/${name}`;
}
