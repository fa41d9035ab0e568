import type { Admin } from "./admin";
import { roleBinding } from "./objects";

// Problems that an audit must find, and lookalikes that it must not report. Nothing here depends on a real node or a controller.

/** What an audit finds: severity, check and object. */
export type Expected = readonly [severity: string, check: string, object: string];

const VIEW = { kind: "ClusterRole", name: "view" } as const;
const CONTAINERS = [{ name: "main", image: "example.com/none:1" }];

type Body = Record<string, unknown> & { metadata: { name: string } };

/** What was planted, and what an audit must report for it and nothing else. */
export interface Planted {
  readonly namespace: string;
  readonly expected: readonly Expected[];
  /** What it reports besides with `--logs`. */
  readonly expectedOfLogs: readonly Expected[];
  /** What the kubelet of the pods answers. */
  readonly logs: Readonly<Record<string, string>>;
}

/** A word of the planted logs that must not be printed. */
export const LOG_WORD = "planted-secret-word";

/** Creates everything in one new namespace. The pods with logs are on this node, whose kubelet must serve `logs`. */
export async function plantProblems(admin: Admin, node: string): Promise<Planted> {
  const namespace = await admin.namespace("planted");
  const plant = new Planting(admin, namespace);
  const { always, withLogs, logs } = await plant.logs(node);
  // The webhooks come last: they refuse pods.
  const expected = [
    ...always,
    ...(await plant.tokens()),
    ...(await plant.tokenFailures()),
    ...(await plant.hooks()),
    ...(await plant.leases()),
    ...(await plant.bindings()),
    ...(await plant.workloads()),
  ];
  return { namespace, expected, expectedOfLogs: withLogs, logs };
}

class Planting {
  readonly #admin: Admin;
  readonly #namespace: string;

  constructor(admin: Admin, namespace: string) {
    this.#admin = admin;
    this.#namespace = namespace;
  }

  /** A pod whose ServiceAccount was recreated, one without its ServiceAccount, and a healthy one. */
  async tokens(): Promise<Expected[]> {
    for (const name of ["recreated", "gone", "healthy"]) {
      await this.#account(name);
      await this.#create("v1", "pods", pod(name));
    }
    await this.#bind("recreated");
    await this.#create("apps/v1", "deployments", workload("recreated", { replicas: 0 }));
    const account = (name: string): string => `/api/v1/namespaces/${this.#namespace}/serviceaccounts/${name}`;
    await this.#admin.delete(account("gone"));
    await this.#admin.delete(account("recreated"));
    // The API server keeps whole seconds.
    await new Promise(resolve => setTimeout(resolve, 1_100));
    await this.#account("recreated");
    return [
      ["critical", "MissingServiceAccount", `Pod ${this.#namespace}/gone`],
      ["warning", "OldToken", `Pod ${this.#namespace}/recreated`],
      ...this.#unprotected("Deployment", "recreated"),
    ];
  }

  /** Pods for which the kubelet gets no token now; one for which it got none an hour ago, and one that lacks another volume. */
  async tokenFailures(): Promise<Expected[]> {
    await this.#account("mounts");
    const noToken = 'MountVolume.SetUp failed for volume "kube-api-access-x" : failed to fetch token: ';
    const denied = `${noToken}serviceaccounts "mounts" is forbidden: no tokens here`;
    const token = `token "mounts"/"${this.#namespace}"/[]string(nil)/3607/v1.BoundObjectReference{Kind:"Pod"}`;
    const expired = `MountVolume.SetUp failed for volume "x" : ${token} expired and refresh failed: context deadline exceeded`;
    await this.#failedMount("no-token", denied, 60);
    await this.#failedMount("expired-token", expired, 60);
    await this.#failedMount("had-no-token", denied, 3600);
    await this.#failedMount("no-file", 'MountVolume.SetUp failed for volume "c" : configmap "c" not found', 60);
    return ["no-token", "expired-token"].map(name => ["critical", "FailedToken", `Pod ${this.#namespace}/${name}`]);
  }

  async #failedMount(name: string, message: string, ageSeconds: number): Promise<void> {
    const { metadata } = await this.#admin.create<{ metadata: { uid: string } }>(
      `/api/v1/namespaces/${this.#namespace}/pods`,
      { ...pod(name), spec: { serviceAccountName: "mounts", containers: CONTAINERS } },
    );
    const lastTimestamp = ago(ageSeconds);
    await this.#create("v1", "events", {
      metadata: { name: `${name}.1` },
      ...{ type: "Warning", reason: "FailedMount", message, firstTimestamp: lastTimestamp, lastTimestamp, count: 3 },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace: this.#namespace, name, uid: metadata.uid },
      source: { component: "kubelet" },
    });
  }

  /** Controllers that log persistent 401s, a single one, and 403s, one of them without any binding; those that have ended, that try a right twice, and that are well. */
  async logs(node: string): Promise<{ always: Expected[]; withLogs: Expected[]; logs: Record<string, string> }> {
    const name = "logging";
    await this.#account(name);
    await this.#bind(name);
    await this.#create("apps/v1", "deployments", workload(name, { replicas: 0 }));
    const unauthorized = `E1120 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized" ${LOG_WORD}`;
    const user = `system:serviceaccount:${this.#namespace}:${name}`;
    const forbidden = `pods is forbidden: User "${user}" cannot list resource "pods" in API group "" ${LOG_WORD}`;
    await this.#account("unbound");
    const logs = {
      unbound: lines(forbidden.replace(user, user.replace(name, "unbound")), 10),
      rejected: lines(unauthorized, 10),
      "rejected-once": lines(unauthorized, 1),
      denied: lines(forbidden, 10),
      probing: lines(forbidden, 2),
      well: lines(`synced 401 objects ${LOG_WORD}`, 10),
      ended: lines(unauthorized, 10),
    };
    for (const pod of Object.keys(logs)) {
      await this.#create("v1", "pods", {
        metadata: { name: pod },
        spec: { nodeName: node, serviceAccountName: pod === "unbound" ? pod : name, containers: CONTAINERS },
      });
      await this.#started(pod, pod === "ended" ? "Succeeded" : "Running");
    }
    const finding = (severity: string, check: string, pod: string): Expected => [
      severity,
      check,
      `Pod ${this.#namespace}/${pod}`,
    ];
    return {
      always: this.#unprotected("Deployment", name),
      withLogs: [
        finding("critical", "RejectedNow", "rejected"),
        finding("warning", "RejectedNow", "rejected-once"),
        finding("warning", "ForbiddenNow", "denied"),
        finding("warning", "ForbiddenNow", "unbound"),
      ],
      logs,
    };
  }

  /** Its container has run for 20 minutes. */
  #started(pod: string, phase: string): Promise<unknown> {
    const state = { running: { startedAt: ago(1200) } };
    return this.#admin.patch(`/api/v1/namespaces/${this.#namespace}/pods/${pod}/status`, {
      status: {
        phase,
        containerStatuses: [{ name: "main", ready: true, restartCount: 0, image: "none", imageID: "none", state }],
      },
    });
  }

  /** ServiceAccounts that hooks recreate; those that only a Job uses, or that only a test creates, do no harm. */
  async hooks(): Promise<Expected[]> {
    await this.#account("helm-hook", { "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "-5" });
    await this.#account("argo-hook", {
      "argocd.argoproj.io/hook": "PreSync",
      "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation",
    });
    await this.#account("job-hook", { "helm.sh/hook": "pre-install" });
    await this.#account("test-hook", { "helm.sh/hook": "test" });
    for (const name of ["helm-hook", "argo-hook", "test-hook"])
      await this.#create("apps/v1", "deployments", workload(name, { replicas: 0 }));
    return ["helm-hook", "argo-hook"].map(name => [
      "warning",
      "RecreatedByHook",
      `ServiceAccount ${this.#namespace}/${name}`,
    ]);
  }

  /** A Lease that its running holder does not renew; one whose holder is gone, and one that is fresh. */
  async leases(): Promise<Expected[]> {
    await this.#account("holder");
    await this.#create("v1", "pods", pod("holder"));
    await this.#started("holder", "Running");
    const lease = (name: string, holderIdentity: string, ageSeconds: number): Promise<void> =>
      this.#create("coordination.k8s.io/v1", "leases", {
        metadata: { name },
        spec: {
          holderIdentity,
          leaseDurationSeconds: 1,
          renewTime: new Date(Date.now() - ageSeconds * 1000).toISOString().replace("Z", "000Z"),
        },
      });
    await lease("stale", "holder_6f1c", 600);
    await lease("abandoned", "deleted-pod_6f1c", 600);
    await lease("fresh", "holder_6f1c", -600);
    return [["critical", "StaleLease", `Lease ${this.#namespace}/stale`]];
  }

  /** Bindings in each convention, and one that never expires. */
  async bindings(): Promise<Expected[]> {
    const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 19) + "Z";
    await this.#binding("soon", { annotations: { "controller-resilience.io/expires-at": inDays(3) } });
    await this.#binding("ttl", { annotations: { "janitor/ttl": "20d" } });
    await this.#binding("later", { annotations: { "janitor/expires": inDays(90) } });
    await this.#binding("kyverno", { labels: { "cleanup.kyverno.io/ttl": "2d" } });
    await this.#binding("kept", { annotations: { note: inDays(1) } });
    const finding = (severity: string, name: string): Expected => [
      severity,
      "ExpiringBinding",
      `RoleBinding ${this.#namespace}/${name}`,
    ];
    return [
      finding("critical", "soon"),
      finding("critical", "kyverno"),
      finding("warning", "ttl"),
      finding("notice", "later"),
    ];
  }

  /** A DaemonSet that uses the API. */
  async workloads(): Promise<Expected[]> {
    await this.#account("agent");
    await this.#bind("agent");
    await this.#create("apps/v1", "daemonsets", workload("agent", {}));
    return this.#unprotected("DaemonSet", "agent");
  }

  #unprotected(kind: string, account: string): Expected[] {
    return [["notice", "Unprotected", `${kind} ${this.#namespace}/${account}`]];
  }

  #account(name: string, annotations: Record<string, string> = {}): Promise<void> {
    return this.#create("v1", "serviceaccounts", { metadata: { name, annotations } as Body["metadata"] });
  }

  #bind(account: string): Promise<void> {
    return this.#binding(`uses-${account}`, {}, account);
  }

  #binding(name: string, metadata: object, account = "nobody"): Promise<void> {
    const subject = { namespace: this.#namespace, name: account };
    const bound = roleBinding({ namespace: this.#namespace, name, ...metadata }, VIEW, subject);
    return this.#create("rbac.authorization.k8s.io/v1", "rolebindings", bound as Body);
  }

  async #create(apiVersion: string, plural: string, body: Body): Promise<void> {
    const prefix = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
    await this.#admin.create(`${prefix}/namespaces/${this.#namespace}/${plural}`, body);
  }
}

function ago(seconds: number): string {
  return new Date(Date.now() - seconds * 1000).toISOString().slice(0, 19) + "Z";
}

/** Lines of a log, one each 25 seconds, as the kubelet serves them with timestamps. */
function lines(text: string, count: number): string {
  return Array.from({ length: count }, (_, i) => `${ago(25 * (count - i))} ${text}\n`).join("");
}

function pod(name: string): Body {
  return { metadata: { name }, spec: { serviceAccountName: name, containers: CONTAINERS } };
}

/** A workload whose ServiceAccount has its name. */
function workload(name: string, spec: object): Body {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { serviceAccountName: name, containers: CONTAINERS } };
  return { metadata: { name }, spec: { selector: { matchLabels: labels }, template, ...spec } };
}
