import { type Named, rightsOf, roleBinding, serviceAccount, workload } from "../cluster/objects";

// A real controller to break: kube-scheduler in its own workload, with its own ServiceAccount and an unused scheduler name. Like most controllers,
// it is written on client-go, with informers and leader election.

/** Where and with which image it runs. */
export interface SchedulerOptions {
  readonly namespace: string;
  readonly name: string;
  readonly image: string;
  readonly replicas?: number;
  /** The pods that it schedules; by default those that name it. */
  readonly schedulerName?: string;
}

const LEASES = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "get", "update"] };

/** All its objects except the namespace. Recreate its ServiceAccount to make its token invalid. */
export function kubeScheduler(options: SchedulerOptions): object[] {
  const { namespace, name, image, replicas = 1, schedulerName = name } = options;
  const account = { namespace, name };
  const bound = (suffix: string, role: string): object =>
    roleBinding({ name: `${namespace}-${name}${suffix}` }, { kind: "ClusterRole", name: role }, account);
  const config = {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    leaderElection: { leaderElect: true, resourceNamespace: namespace, resourceName: name },
    profiles: [{ schedulerName }],
  };
  const container = {
    name: "kube-scheduler",
    image,
    imagePullPolicy: "IfNotPresent",
    command: ["kube-scheduler", "--config=/etc/scheduler/config.json", "--secure-port=0"],
    volumeMounts: [{ name: "config", mountPath: "/etc/scheduler", readOnly: true }],
  };
  const pod = { containers: [container], volumes: [{ name: "config", configMap: { name } }] };
  return [
    serviceAccount(account),
    ...[bound("", "system:kube-scheduler"), bound("-volumes", "system:volume-scheduler")],
    ...rightsOf(account, account, LEASES),
    { apiVersion: "v1", kind: "ConfigMap", metadata: account, data: { "config.json": JSON.stringify(config) } },
    workload("Deployment", account, pod, { replicas }),
  ];
}

/** The names of its ClusterRoleBindings, which do not go with its namespace. */
export function clusterRoleBindingsOf({ namespace, name }: Named): string[] {
  return ["", "-volumes"].map(suffix => `${namespace}-${name}${suffix}`);
}
