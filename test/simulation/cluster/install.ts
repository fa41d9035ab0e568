import { type Place, type ProgramName, programOf } from "../programs/library";
import { METRICS_PORT, WIDGET_RULES } from "../programs/widgets";
import type { ProgramFactory } from "../programs/program";
import type { NewObj, Obj } from "../server/objects";
import { Dice } from "../time";
import type { Cluster } from "./cluster";
import { tokenSources } from "./pods";

/** The spec of a PodDisruptionBudget, without its selector. */
export interface BudgetPlan {
  readonly minAvailable?: number | string;
  readonly maxUnavailable?: number | string;
}

/** A workload with its program, its ServiceAccount and its access. */
export interface WorkloadPlan {
  readonly kind: "Deployment" | "StatefulSet" | "DaemonSet";
  readonly namespace: string;
  readonly name: string;
  readonly program: ProgramName;
  /** The program of some of its pods: those of a StatefulSet may share the work. */
  readonly shard?: ProgramName;
  /** The program of a second container. */
  readonly sidecar?: ProgramName;
  /** Of a DaemonSet the number of nodes counts instead. */
  readonly replicas?: number;
  /** It has a Lease that lasts so long. */
  readonly leaseSeconds?: number;
  /** Absent: a fifth of that. */
  readonly renewsEverySeconds?: number;
  /** How long its pods may take to end; absent: 30. */
  readonly graceSeconds?: number;
  /** Absent: one of its own name. */
  readonly serviceAccount?: string;
  /** Annotations and labels of its RoleBinding, such as an expiry. */
  readonly binding?: { readonly annotations?: Record<string, string>; readonly labels?: Record<string, string> };
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The annotation that keeps the operator away. */
  readonly isSkipped?: true;
  readonly updateStrategy?: "OnDelete";
  /** A Deployment whose rollouts wait. */
  readonly isPaused?: true;
  /** expirationSeconds of the token that its template names; absent: the default volume. */
  readonly tokenSeconds?: number;
  readonly automount?: boolean;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly maxUnavailable?: number | string;
  /** Its PodDisruptionBudgets. */
  readonly budgets?: readonly BudgetPlan[];
  readonly progressDeadlineSeconds?: number;
  /** Of a program that handles Widgets: specs of some of them change so often. Absent: never. */
  readonly changesEveryMinutes?: number;
}

const RESOURCE = { Deployment: "deployments", StatefulSet: "statefulsets", DaemonSet: "daemonsets" } as const;

/** Plural of a workload's kind. */
export function resourceOf(kind: WorkloadPlan["kind"]): (typeof RESOURCE)[typeof kind] {
  return RESOURCE[kind];
}

/** Creates a workload and everything that it needs; namespace, ServiceAccount and access may be there already. */
export function install(cluster: Cluster, plan: WorkloadPlan): Obj {
  const { store } = cluster.ground;
  const { namespace, name, kind, program, shard, sidecar, budgets = [] } = plan;
  cluster.addNamespace(namespace);
  grant(cluster, plan);
  cluster.addImage(imageOf(plan, program), sharded(programOf(program, placeOf(plan)), shard, plan));
  // The Lease is the main program's: a sidecar that renews it would hide that the main one hangs.
  if (sidecar !== undefined) cluster.addImage(imageOf(plan, sidecar), programOf(sidecar, { namespace, name }));
  for (const [at, budget] of budgets.entries())
    store.create("poddisruptionbudgets", {
      metadata: { namespace, name: at === 0 ? name : `${name}-${at}` },
      spec: { ...budget, selector: { matchLabels: { app: name } } },
    });
  return store.create(resourceOf(kind), workload(plan));
}

/** Pods of the same name are the same shard. */
function sharded(most: ProgramFactory, shard: ProgramName | undefined, plan: WorkloadPlan): ProgramFactory {
  if (shard === undefined) return most;
  const some = programOf(shard, placeOf(plan));
  return context => (new Dice(0).fork(context.pod).chance(SHARD) ? some : most)(context);
}

/** The share of a workload's pods that are its shard. */
const SHARD = 0.4;

function placeOf({ name, namespace, leaseSeconds: seconds, renewsEverySeconds }: WorkloadPlan): Place {
  if (seconds === undefined) return { name, namespace };
  return { name, namespace, lease: { name, namespace, seconds, everySeconds: renewsEverySeconds ?? seconds / 5 } };
}

/** The image with one of the programs of a plan. */
export function imageOf({ namespace, name }: WorkloadPlan, program: ProgramName): string {
  return `registry.example/${namespace}/${name}:${program}-1`;
}

/** Creates ServiceAccount, Role and RoleBinding, those of them that are missing. */
export function grant({ ground: { store } }: Cluster, plan: WorkloadPlan): void {
  const { namespace, name: ownName, serviceAccount: name = ownName } = plan;
  const { annotations = {}, labels = {} } = plan.binding ?? {};
  const metadata = { namespace, name };
  if (store.get("serviceaccounts", namespace, name) === undefined) store.create("serviceaccounts", { metadata });
  if (store.get("roles", namespace, name) === undefined) store.create("roles", { metadata, rules: rulesOf(plan) });
  if (store.get("rolebindings", namespace, name) !== undefined) return;
  store.create("rolebindings", {
    metadata: { ...metadata, annotations, labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  });
}

/** The program handles Widgets. */
export function handlesWidgets({ program }: Pick<WorkloadPlan, "program">): boolean {
  return program.startsWith("widgets");
}

function rulesOf(plan: WorkloadPlan): object[] {
  return handlesWidgets(plan) ? [...RULES, ...WIDGET_RULES] : RULES;
}

/** What the library's programs need. */
export const RULES = [
  { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch", "update"] },
  { apiGroups: [""], resources: ["pods", "configmaps"], verbs: ["get", "list", "watch", "update"] },
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
];

const SKIP = "controller-resilience.io/skip";

/** The object of a plan. */
export function workload(plan: WorkloadPlan): NewObj {
  const { namespace, name, kind, replicas = 1, labels, isSkipped } = plan;
  const app = { app: name };
  const annotations = { ...plan.annotations, ...(isSkipped === true ? { [SKIP]: "true" } : {}) };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { namespace, name, labels: { ...app, ...labels }, annotations },
    spec: {
      ...(kind === "DaemonSet" ? {} : { replicas }),
      selector: { matchLabels: app },
      template: templateOf(plan),
      ...strategyOf(plan),
    },
  };
}

function strategyOf(plan: WorkloadPlan): object {
  const { kind, updateStrategy, isPaused, maxUnavailable, progressDeadlineSeconds } = plan;
  if (kind === "Deployment")
    return {
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: maxUnavailable ?? "25%" } },
      progressDeadlineSeconds: progressDeadlineSeconds ?? 600,
      ...(isPaused === true ? { paused: true } : {}),
    };
  if (updateStrategy !== undefined) return { updateStrategy: { type: "OnDelete" } };
  const rollingUpdate = kind === "DaemonSet" ? { maxUnavailable: maxUnavailable ?? 1, maxSurge: 0 } : { partition: 0 };
  return { updateStrategy: { type: "RollingUpdate", rollingUpdate } };
}

function templateOf(plan: WorkloadPlan): object {
  const { name, serviceAccount = name, program, sidecar, nodeSelector, automount, graceSeconds = 30 } = plan;
  const { volumes, volumeMounts } = mountsOf(plan);
  const container = (title: string, one: ProgramName): object => ({
    ...{ name: title, image: imageOf(plan, one) },
    ...(volumeMounts.length === 0 ? {} : { volumeMounts }),
    ...(title === "main" && handlesWidgets(plan)
      ? { ports: [{ name: "metrics", containerPort: METRICS_PORT, protocol: "TCP" }] }
      : {}),
  });
  return {
    metadata: { labels: { app: name } },
    spec: {
      ...{ serviceAccountName: serviceAccount, terminationGracePeriodSeconds: graceSeconds },
      ...(automount === undefined ? {} : { automountServiceAccountToken: automount }),
      ...(isAgent(program) ? { hostNetwork: true } : {}),
      ...(nodeSelector === undefined ? {} : { nodeSelector: { ...nodeSelector } }),
      containers: [container("main", program), ...(sidecar === undefined ? [] : [container("sidecar", sidecar)])],
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  };
}

function isAgent(program: ProgramName): boolean {
  return program === "cni-thin" || program === "cni-renewing";
}

/** A folder of the node for an agent, and a token that the template names. */
function mountsOf({ program, tokenSeconds }: WorkloadPlan): { volumes: object[]; volumeMounts: object[] } {
  const volumes: object[] = [];
  const volumeMounts: object[] = [];
  if (isAgent(program)) {
    volumes.push({ name: "cni", hostPath: { path: "/etc/cni/net.d", type: "" } });
    volumeMounts.push({ name: "cni", mountPath: "/host/etc/cni/net.d" });
  }
  if (tokenSeconds !== undefined) {
    volumes.push(tokenVolume(tokenSeconds));
    volumeMounts.push({ name: "token", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true });
  }
  return { volumes, volumeMounts };
}

function tokenVolume(expirationSeconds: number): object {
  return { name: "token", projected: { defaultMode: 420, sources: tokenSources(expirationSeconds) } };
}
