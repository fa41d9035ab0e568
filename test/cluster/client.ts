import { setTimeout as sleep } from "node:timers/promises";
import type {
  ControllerResilience,
  ControllerResilienceSpec,
  StatusCondition,
} from "../../src/api/controller-resilience";
import type { CommandResult, Lab } from "../lab";

/** Runs kubectl against one cluster; a failure is a result. */
export type Kubectl = (args: readonly string[], stdin?: string) => Promise<CommandResult>;

/** The fields of a pod that tests use. */
export interface Pod {
  readonly metadata: { name: string; uid: string; creationTimestamp: string; deletionTimestamp?: string };
  readonly spec: { volumes?: { name: string }[] };
  readonly status: {
    phase: string;
    conditions?: { type: string; status: string }[];
    containerStatuses?: { restartCount: number }[];
  };
}

/** The fields of a DaemonSet that tests use. */
export interface DaemonSet {
  readonly metadata: { readonly name: string; readonly uid: string; readonly generation: number };
  readonly spec: { readonly template: object };
}

/** The fields of an Event that tests use. */
export interface OperatorEvent {
  readonly involvedObject: { kind: string; name: string };
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly eventTime?: string;
  readonly reportingComponent?: string;
}

/** A RoleBinding, or a ClusterRoleBinding, which has no namespace. */
export interface Binding {
  readonly kind: "RoleBinding" | "ClusterRoleBinding";
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects?: readonly object[];
}

/** Longer than any single step takes, also on a machine that is half as fast. Only a failure waits for so long. */
const PATIENCE_MS = 300_000;

/** Operations on a cluster for demonstrations and tests. They use kubectl, as a user does. */
export class ClusterClient {
  constructor(readonly kubectl: Kubectl) {}

  /** A client of a lab, as its administrator. */
  static of(lab: Pick<Lab, "kubectl">): ClusterClient {
    return new ClusterClient((args, stdin) => lab.kubectl(args, stdin === undefined ? {} : { stdin }));
  }

  /** Returns the standard output of a call that must succeed. */
  async output(args: readonly string[], stdin?: string): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(args, stdin);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${stderr.trim()}`);
    return stdout;
  }

  /** Returns what such a call prints as JSON. */
  async json<T>(args: readonly string[]): Promise<T> {
    return JSON.parse(await this.output([...args, "-o", "json"])) as T;
  }

  /** Applies objects, or YAML text, with server-side apply. */
  async apply(manifests: string | readonly object[]): Promise<void> {
    const text =
      typeof manifests === "string" ? manifests : JSON.stringify({ apiVersion: "v1", kind: "List", items: manifests });
    await this.output(["apply", "--server-side", "--force-conflicts", "-f", "-"], text);
  }

  async createNamespace(name: string): Promise<void> {
    await this.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name } }]);
  }

  /** Deletes without waiting; a missing object is no error. */
  async deleteNamespace(name: string): Promise<void> {
    await this.output(["delete", "namespace", name, "--ignore-not-found", "--wait=false"]);
  }

  /** Makes the tokens of a ServiceAccount invalid: the same name, another uid. */
  async recreateServiceAccount(namespace: string, name: string): Promise<void> {
    await this.output(["delete", "serviceaccount", name, "-n", namespace]);
    await this.apply([{ apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } }]);
  }

  async pods(namespace: string, app?: string): Promise<Pod[]> {
    const selector = app === undefined ? [] : ["-l", `app.kubernetes.io/name=${app}`];
    return (await this.json<{ items: Pod[] }>(["get", "pods", "-n", namespace, ...selector])).items;
  }

  daemonSet(namespace: string, name: string): Promise<DaemonSet> {
    return this.json(["get", "daemonset", name, "-n", namespace]);
  }

  /** Runs a command in a container; returns its standard output. */
  async exec(
    { namespace, pod, container }: { namespace: string; pod: string; container: string },
    command: readonly string[],
  ): Promise<string> {
    return this.output(["exec", pod, "-n", namespace, "-c", container, "--", ...command]);
  }

  /** Creates or replaces the spec of a ControllerResilience. */
  async protect(
    namespace: string,
    name: string,
    spec: Partial<Record<keyof ControllerResilienceSpec, unknown>>,
  ): Promise<void> {
    const metadata = { namespace, name };
    await this.apply([
      { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience", metadata, spec },
    ]);
  }

  resilience(namespace: string, name: string): Promise<ControllerResilience> {
    return this.json(["get", "cres", name, "-n", namespace]);
  }

  async condition(namespace: string, name: string, type: string): Promise<StatusCondition | undefined> {
    return (await this.resilience(namespace, name)).status?.conditions?.find(condition => condition.type === type);
  }

  /** The operator's Events in a namespace, oldest first. */
  async events(namespace: string): Promise<OperatorEvent[]> {
    const list = await this.json<{ items: OperatorEvent[] }>(["get", "events", "-n", namespace]);
    return list.items.filter(({ reportingComponent }) => reportingComponent === "controller-resilience");
  }

  /** Waits for an Event, which comes a little after what it is about, and unlike the text of a condition does not pass. */
  async untilEvent(namespace: string, isIt: (event: OperatorEvent) => boolean): Promise<OperatorEvent> {
    return this.until(`an Event in ${namespace}`, async () => (await this.events(namespace)).find(isIt));
  }

  /** The sum of all series of a counter of the API server that have these labels. */
  async counter(name: string, ...labels: string[]): Promise<number> {
    const lines = (await this.output(["get", "--raw", "/metrics"])).split("\n");
    const series = lines.filter(line => line.startsWith(`${name}{`) && labels.every(label => line.includes(label)));
    return series.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  /** Returns undefined if there is none. */
  async binding(kind: Binding["kind"], name: string, namespace?: string): Promise<Binding | undefined> {
    const args = ["get", kind.toLowerCase(), name, ...inNamespace(namespace), "--ignore-not-found", "-o", "json"];
    const text = await this.output(args);
    return text.trim() === "" ? undefined : (JSON.parse(text) as Binding);
  }

  /** Returns every RoleBinding and ClusterRoleBinding. */
  async allBindings(): Promise<Binding[]> {
    return (await this.json<{ items: Binding[] }>(["get", "rolebindings,clusterrolebindings", "-A"])).items;
  }

  /** Returns false if there was none. */
  async deleteBinding(kind: Binding["kind"], name: string, namespace?: string): Promise<boolean> {
    const args = ["delete", kind.toLowerCase(), name, ...inNamespace(namespace), "--ignore-not-found", "-o", "name"];
    return (await this.output(args)).trim() !== "";
  }

  /** Polls twice a second until `look` returns a value; after the time limit, throws with the last error. */
  async until<T>(what: string, look: () => Promise<T | false | undefined>, timeoutMs = PATIENCE_MS): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    let trouble = "condition not met";
    for (;;) {
      try {
        const seen = await look();
        if (seen !== false && seen !== undefined) return seen;
      } catch (error) {
        trouble = error instanceof Error ? error.message : String(error);
      }
      if (performance.now() > deadline)
        throw new Error(`timed out after ${timeoutMs / 1000} s waiting for ${what}: ${trouble}`);
      await sleep(500);
    }
  }

  /** Waits until these kinds are served, each named as `crd/...`. Retried, since kubectl fails at once for a definition without a status. */
  async untilServed(definitions: readonly string[]): Promise<void> {
    const wait = ["wait", "--for=condition=Established", "--timeout=5s", ...definitions];
    await this.until(`${definitions.join(", ")} to be served`, () => this.output(wait));
  }

  /** Waits until exactly this many pods of an app are Ready and none is terminating. */
  async readyPods(namespace: string, app: string, count = 1): Promise<Pod[]> {
    return this.until(`${count} ready pods of ${namespace}/${app}`, async () => {
      const pods = await this.pods(namespace, app);
      return pods.length === count && pods.every(pod => isReady(pod) && !pod.metadata.deletionTimestamp) && pods;
    });
  }

  /** Waits until a condition has one of these reasons; after the time limit, throws with its last reason. */
  async untilCondition(
    { namespace, name, type }: { namespace: string; name: string; type: string },
    reasons: readonly string[],
    timeoutMs = PATIENCE_MS,
  ): Promise<StatusCondition> {
    const look = async (): Promise<StatusCondition | false> => {
      const condition = await this.condition(namespace, name, type);
      if (condition === undefined) return false;
      if (reasons.includes(condition.reason)) return condition;
      throw new Error(`${condition.status} ${condition.reason}: ${condition.message}`);
    };
    return this.until(`${type} of ${namespace}/${name} to say ${reasons.join(" or ")}`, look, timeoutMs);
  }

  /** The same for TokensAccepted. */
  async untilTokens(namespace: string, name: string, reasons: readonly string[], timeoutMs?: number) {
    return this.untilCondition({ namespace, name, type: "TokensAccepted" }, reasons, timeoutMs);
  }
}

/** Whether the pod's Ready condition is True. */
export function isReady(pod: Pod): boolean {
  return pod.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function inNamespace(namespace: string | undefined): string[] {
  return namespace === undefined ? [] : ["-n", namespace];
}
