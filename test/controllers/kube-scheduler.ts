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

/** All its objects except the namespace. Recreate `serviceAccount()` to make its token invalid. */
export function kubeScheduler(options: SchedulerOptions): object[] {
  return [serviceAccount(options), ...rights(options), configuration(options), workload(options)];
}

export function serviceAccount({ namespace, name }: SchedulerOptions): object {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } };
}

function rights({ namespace, name }: SchedulerOptions): object[] {
  const subjects = [{ kind: "ServiceAccount", namespace, name }];
  const group = "rbac.authorization.k8s.io";
  const binding = (kind: string, metadata: object, roleKind: string, role: string): object => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata,
    roleRef: { apiGroup: group, kind: roleKind, name: role },
    subjects,
  });
  return [
    binding("ClusterRoleBinding", { name: `${namespace}-${name}` }, "ClusterRole", "system:kube-scheduler"),
    binding("ClusterRoleBinding", { name: `${namespace}-${name}-volumes` }, "ClusterRole", "system:volume-scheduler"),
    {
      apiVersion: `${group}/v1`,
      kind: "Role",
      metadata: { namespace, name },
      rules: [{ apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create", "get", "update"] }],
    },
    binding("RoleBinding", { namespace, name }, "Role", name),
  ];
}

function configuration({ namespace, name, schedulerName = name }: SchedulerOptions): object {
  const config = {
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    leaderElection: { leaderElect: true, resourceNamespace: namespace, resourceName: name },
    profiles: [{ schedulerName }],
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name },
    data: { "config.json": JSON.stringify(config) },
  };
}

function workload(options: SchedulerOptions): object {
  const { namespace, name, image, replicas = 1 } = options;
  const labels = { "app.kubernetes.io/name": name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace, name, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: name,
          // The pod ends at once, so that a demonstration need not wait for its termination.
          terminationGracePeriodSeconds: 1,
          containers: [
            {
              name: "kube-scheduler",
              image,
              imagePullPolicy: "IfNotPresent",
              command: ["kube-scheduler", "--config=/etc/scheduler/config.json", "--secure-port=0"],
              volumeMounts: [{ name: "config", mountPath: "/etc/scheduler", readOnly: true }],
            },
          ],
          volumes: [{ name: "config", configMap: { name } }],
        },
      },
    },
  };
}
