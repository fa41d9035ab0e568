// The demonstration: a real kube-scheduler that may hold its Lease for a minute, by a RoleBinding with Kyverno's label; a twin of it that
// nobody looks after; and a second RoleBinding, which a person revokes.
import type { BindingStatus, StatusCondition } from "../../src/api/controller-resilience";
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
/** Longer than any healthy run by far; then it says what it saw and fails. */
const PATIENCE_MS = 180_000;
const TELL_EVERY_S = 10;

/** Plays the scenario on one cluster and shows it on one timeline. */
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

  /** Two controllers without a right to their Lease, and the object that protects one of them. */
  async prepare(): Promise<void> {
    this.timeline.heading("Two controllers: kube-scheduler, with leader election, in Deployments of their own");
    for (const namespace of [NAMESPACE, TWIN]) {
      await this.client.createNamespace(namespace);
      await this.client.apply(schedulerWithoutLease({ namespace, name: NAME, image: this.image }));
    }
    for (const namespace of [NAMESPACE, TWIN]) {
      const pod = await this.until(`the scheduler in ${namespace} to run`, () => this.runningPod(namespace));
      this.timeline.say("pod", `${namespace}/${pod.metadata.name} is running, and may not hold its Lease yet`);
    }
    this.timeline.heading(`The one in ${NAMESPACE} is protected; its twin in ${TWIN} is not`);
    this.timeline.quote(JSON.stringify(SPEC));
    this.timeline.quote(
      `and, as the installer of the operator: it may bind Role ${NAME} in ${NAMESPACE}, nothing else`,
    );
    await this.operator.letBind({ kind: "Role", name: NAME, namespace: NAMESPACE });
    await this.client.protect(NAMESPACE, NAME, SPEC);
    await this.until("condition BindingsCurrent to be there", () => this.condition());
  }

  /** Lets a minute and more pass. */
  async play(): Promise<string> {
    this.timeline.heading(
      `Both get the right to their Lease for a minute: RoleBindings with ${EXPIRY.kyverno}: ${TTL}`,
    );
    const [kept, extra, twin] = await this.grant();
    this.timeline.setZero();
    const scope = { namespaces: [NAMESPACE, TWIN] };
    const enforcer = Enforcer.start(this.client, scope);
    this.timeline.say("you", `created RoleBindings ${pathOf(kept)}, ${pathOf(extra)} and ${pathOf(twin)}`);
    this.timeline.say("enforcer", `deletes from now on what is due, in ${scope.namespaces.join(" and ")}`);
    try {
      const leader = await this.bothLead();
      await this.announced();
      await this.revoke(extra);
      await this.renewed(kept, enforcer);
      const deletion = await this.twinGoes(twin, enforcer);
      await this.survives(kept, extra, enforcer);
      await this.stayedUp(leader);
      const seconds = (deletion.deletedMs - Date.parse(twin.metadata.creationTimestamp)) / 1000;
      return `Renewed and alive. The twin's right was deleted ${seconds.toFixed(0)} s after it was given; the revoked one stayed gone.`;
    } finally {
      await enforcer.stop();
    }
  }

  /** The bindings and conditions as kubectl prints them. */
  async show(): Promise<void> {
    for (const namespace of [NAMESPACE, TWIN]) {
      const args = ["get", "rolebindings", "-n", namespace, "-L", EXPIRY.kyverno];
      await quoteKubectl(this.client, this.timeline, args);
    }
    await quoteObject(this.client, this.timeline, { namespace: NAMESPACE, name: NAME });
  }

  /** Takes away what prepare() and play() made. */
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

  /** Returns the pod of the protected one. */
  private async bothLead(): Promise<Pod> {
    for (const namespace of [NAMESPACE, TWIN]) {
      await this.until(`the scheduler in ${namespace} to lead`, async () => (await this.leaseHolder(namespace)) !== "");
      this.timeline.say("pod", `the scheduler in ${namespace} holds its Lease`, "good");
    }
    return this.until("its pod", () => this.runningPod(NAMESPACE));
  }

  private async announced(): Promise<void> {
    await this.until("the end to be announced (ExpiringSoon, and still True)", async () => {
      const condition = await this.condition();
      return condition?.status === "True" && condition.reason === "ExpiringSoon";
    });
    this.timeline.say("status", `${NAME} is announced to expire soon`, "good");
  }

  private async revoke({ metadata: { uid } }: Binding): Promise<void> {
    await this.until("both bindings to be recorded in status", async () => (await this.entry(EXTRA))?.uid === uid);
    if (!(await this.client.deleteBinding("RoleBinding", EXTRA, NAMESPACE))) {
      throw new Error(`RoleBinding ${NAMESPACE}/${EXTRA} was gone before it could be revoked`);
    }
    this.timeline.say("you", `deleted RoleBinding ${NAMESPACE}/${EXTRA}, before its end: a revocation`);
    await this.until("the revocation to be noticed", async () => (await this.entry(EXTRA))?.state === "Revoked");
    await this.condition();
    this.timeline.say("status", `${EXTRA} is Revoked: it is never brought back`, "good");
  }

  private async renewed(kept: Binding, enforcer: Enforcer): Promise<void> {
    const now = await this.until(`RoleBinding ${pathOf(kept)} to be renewed`, () => this.later(kept, enforcer));
    const [from, to] = [kept, now].map(({ metadata }) => metadata.labels?.[EXPIRY.kyverno] ?? "nothing");
    this.timeline.say("binding", `${pathOf(kept)} is renewed: ${EXPIRY.kyverno} was ${from} and is ${to}`, "good");
    await this.until("an Event BindingRenewed on the binding and on the object", async () => {
      const events = (await this.client.events(NAMESPACE)).filter(({ reason }) => reason === "BindingRenewed");
      for (const { involvedObject, message } of events) {
        this.timeline.say(
          "event",
          `BindingRenewed on ${involvedObject.kind} ${involvedObject.name}: ${message}`,
          "good",
        );
      }
      const kinds = events.map(({ involvedObject }) => involvedObject.kind);
      return kinds.includes("RoleBinding") && kinds.includes("ControllerResilience");
    });
  }

  private async twinGoes(twin: Binding, enforcer: Enforcer): Promise<Deletion> {
    const find = (): Deletion | undefined =>
      enforcer.deletions.find(({ binding: { metadata } }) => metadata.uid === twin.metadata.uid);
    const deletion = await this.until("the enforcer to delete the twin's binding", () => Promise.resolve(find()));
    this.timeline.say("enforcer", `deleted RoleBinding ${pathOf(twin)}, as its label says`, "bad");
    await this.until("the twin to lose its Lease", async () => {
      const [pod] = await this.client.pods(TWIN);
      return (pod?.status.containerStatuses?.[0]?.restartCount ?? 0) > 0;
    });
    this.timeline.say("pod", `the scheduler in ${TWIN} could not renew its Lease and has ended`, "bad");
    return deletion;
  }

  /** Past the moment at which both bindings would have ended, and past the next renewal: then the operator has looked again, too. */
  private async survives(kept: Binding, extra: Binding, enforcer: Enforcer): Promise<void> {
    await enforcer.lookedAfter(Math.max(dueMs(kept), dueMs(extra)), PATIENCE_MS);
    await this.condition();
    const survivor = await this.bindingNow(NAMESPACE, NAME);
    this.timeline.say("enforcer", `looked past the first end of ${pathOf(kept)}, and had to leave it alone`, "good");
    const again = await this.until("it to be renewed once more", () => this.later(survivor, enforcer));
    if (again.metadata.uid !== kept.metadata.uid)
      throw new Error(`${pathOf(kept)} is another one than at the beginning`);
    this.timeline.say("binding", `${pathOf(kept)} is renewed once more, and is still the same object`, "good");
    const state = (await this.entry(EXTRA))?.state;
    if (state !== "Revoked" || (await this.client.binding("RoleBinding", EXTRA, NAMESPACE)) !== undefined) {
      throw new Error(`the revoked RoleBinding ${pathOf(extra)} should stay gone; status says of it: ${state}`);
    }
    this.timeline.say("binding", `${pathOf(extra)} is still gone, past what would have been its end`, "good");
  }

  private async stayedUp(leader: Pod): Promise<void> {
    const pod = await this.until("the protected scheduler's pod", () => this.runningPod(NAMESPACE));
    const restarts = pod.status.containerStatuses?.[0]?.restartCount ?? 0;
    if (pod.metadata.uid !== leader.metadata.uid || restarts > 0) {
      throw new Error(
        `the protected scheduler should have run on; its pod is ${pod.metadata.name}, restarted ${restarts} times`,
      );
    }
    this.timeline.say("pod", `the scheduler in ${NAMESPACE} has run all the time`, "good");
  }

  /** The same object with a later end, or undefined. */
  private async later(then: Binding, enforcer: Enforcer): Promise<Binding | undefined> {
    if (enforcer.deleted(then.metadata.uid)) throw new Error("the enforcer has deleted it");
    const now = await this.bindingNow(NAMESPACE, then.metadata.name);
    return now.metadata.uid === then.metadata.uid && dueMs(now) > dueMs(then) ? now : undefined;
  }

  /** Shows that the demo is running. */
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

/** All that it needs, but the right to hold its Lease. */
function schedulerWithoutLease(options: SchedulerOptions): Named[] {
  return (kubeScheduler(options) as Named[]).filter(({ kind }) => kind !== "RoleBinding");
}

function pathOf({ metadata: { namespace = "", name } }: Binding): string {
  return `${namespace}/${name}`;
}
