import type { ClusterClient } from "../../cluster/client";
import { LEASES, rightsOf, roleBinding, serviceAccount, type WorkloadKind } from "../../cluster/objects";
import {
  ASYNCIO,
  asyncioImage,
  deschedulerImage,
  FABRIC8,
  fabric8Image,
  managerImage,
  nodeControllerImage,
  pythonControllerImage,
} from "../../controllers/images";
import { kubeScheduler } from "../../controllers/kube-scheduler";
import { kubeControllerManager } from "../../controllers/lease-holder";
import { smallController, type SmallControllerOptions } from "../../controllers/small-controller";
import { SOURCE_CONTROLLER } from "../../gitops/programs";
import { NODE_ADDRESS } from "../../lab/addresses";
import { PAUSE_IMAGE } from "../../lab/components";
import { goImage, schedulerImage } from "../../lab/images";

/** Ports of silent-server.ts on the node. */
export const PROXY_PORT = 16443;
export const LATE_PROXY_PORT = 16444;
export const REPOSITORY_PORT = 16080;

/** The name of each program, and of its ControllerResilience. Each has a namespace of its own. */
export const NAME = "web";

/** The images, by the names that programs use. */
export const IMAGES = {
  /** It has kube-controller-manager, too. */
  scheduler: schedulerImage,
  node: nodeControllerImage,
  python: pythonControllerImage,
  asyncio: asyncioImage,
  fabric8: fabric8Image,
  manager: managerImage,
  descheduler: deschedulerImage,
  source: () => goImage(SOURCE_CONTROLLER),
};

/** What a case works with. */
export interface Hands {
  readonly client: ClusterClient;
  readonly namespace: string;
  /** When the matrix ends, by the monotonic clock. */
  readonly endMs: number;
}

export type Act = (hands: Hands) => Promise<unknown>;

/** A program: its objects, what it handles, and what it needs in the block stallDetection of the spec. */
export interface Program {
  readonly program: string;
  readonly image: keyof typeof IMAGES;
  readonly install: (namespace: string, image: string) => object[];
  readonly entry: (namespace: string) => object;
  /** Creates its objects, a few minutes before what is done to it. */
  readonly seed: Act;
  readonly spec?: object;
  readonly replicas?: number;
}

/** A program, what is done to it, and what must be said. */
export interface Case extends Omit<Program, "entry" | "seed">, Partial<Pick<Program, "entry" | "seed">> {
  readonly kind?: WorkloadKind;
  readonly what: string;
  readonly act: Act;
  /** What must be said, as REASON: MESSAGE; absent: nothing is. */
  readonly told?: RegExp;
  /** What may be said beside that, while a part of the evidence is missing. */
  readonly beside?: RegExp;
  /** It is restarted, and works again. In a cluster two restarts without proof are watched for half an hour, so at most two cases are. */
  readonly heals?: boolean;
  /** In the spec. */
  readonly remedies?: object;
}

export const groupOf = (namespace: string): string => `${namespace}.example.com`;

/** The kind of one case: what moves in another one must not speak for it. */
export function widgetKind(namespace: string): object {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
    metadata: { name: `widgets.${groupOf(namespace)}` },
    spec: {
      ...{ group: groupOf(namespace), scope: "Namespaced", names: { kind: "Widget", plural: "widgets" } },
      versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

/** What a cluster administrator makes, so that the operator may read the kinds. */
export const PROGRESS_ROLE = {
  ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  metadata: { name: "zoo-progress", labels: { "controller-resilience.io/aggregate-to-progress": "true" } },
  rules: [
    {
      apiGroups: ["*"],
      resources: ["widgets", "helmrepositories", "replicationcontrollers", "poddisruptionbudgets", "pods"],
      verbs: ["get", "list"],
    },
  ],
};

let step = 0;

/** Creates or changes Widgets, each to another generation. */
export function widgets(
  { client, namespace }: Hands,
  names: readonly string[],
  spec: object,
  labels = {},
): Promise<void> {
  const head = { apiVersion: `${groupOf(namespace)}/v1`, kind: "Widget" };
  const one = (name: string): object => ({ ...head, metadata: { namespace, name, labels }, spec: { step, ...spec } });
  step += 1;
  return client.apply(names.map(one));
}

export const SOME = ["a", "b", "c", "d", "e", "f"];
export const change =
  (spec: object = {}, names = SOME): Act =>
  hands =>
    widgets(hands, names, spec);

interface ManagerOptions {
  readonly workers?: number;
  readonly replicas?: number;
  readonly flags?: readonly string[];
  readonly elects?: boolean;
  /** The port by which it reaches the API server, so that its watches can be held. */
  readonly proxy?: number;
  readonly metrics?: "plain" | "secure" | "none";
  /** What its rows say of these options. */
  readonly note?: string;
}

const envOf = (proxy: number | undefined): object[] =>
  proxy === undefined
    ? []
    : [
        { name: "KUBERNETES_SERVICE_HOST", value: NODE_ADDRESS },
        { name: "KUBERNETES_SERVICE_PORT", value: `${proxy}` },
      ];

/** Adds to the container of the workload among these objects. */
function withContainer(objects: readonly object[], more: { env?: readonly object[]; ports?: readonly object[] }) {
  interface Workload {
    readonly kind: string;
    readonly spec: {
      readonly template: { readonly spec: { readonly containers: { env?: object[]; ports?: object[] }[] } };
    };
  }
  for (const { kind, spec } of objects as readonly Workload[]) {
    const [container] = kind === "Deployment" ? spec.template.spec.containers : [];
    if (container === undefined) continue;
    container.env = [...(container.env ?? []), ...(more.env ?? [])];
    container.ports = [...(more.ports ?? [])];
  }
  return [...objects];
}

const clusterBinding = (namespace: string, role: string, name: string = NAME): object =>
  roleBinding(
    { name: `${namespace}-${name}-${role.replaceAll(":", "-")}` },
    { kind: "ClusterRole", name: role },
    { namespace, name },
  );

/** kopf looks for new kinds and namespaces. */
export const KOPF_ROLE = "zoo-kopf";

/** The account with which authenticated metrics are read. */
const READER = "metrics-reader";

export function manager(options: ManagerOptions = {}): Program {
  const { workers = 2, replicas = 1, flags = [], elects = true, proxy, metrics = "plain", note } = options;
  const program = ["controller-runtime", note].filter(Boolean).join(", ");
  const { spec, args, ports, rights } = METRICS[metrics];
  return {
    ...{ program, image: "manager", replicas, spec, seed: change() },
    entry: namespace => ({ apiVersion: `${groupOf(namespace)}/v1`, kind: "Widget", for: "5m" }),
    install: (namespace, image) => {
      const own = [`--group=${groupOf(namespace)}`, `--workers=${workers}`, ...args];
      const command = ["controller-runtime-manager", ...own, ...flags];
      const rules = [widgetRights(namespace), { apiGroups: [""], resources: ["configmaps"], verbs: ["create"] }];
      return [
        ...installed({ namespace, image, command, replicas, lease: elects }, { env: envOf(proxy), ports }, ...rules),
        ...rights(namespace),
      ];
    },
  };
}

const widgetRights = (namespace: string): object => ({
  ...{ apiGroups: [groupOf(namespace)], resources: ["widgets", "widgets/status"], verbs: ["*"] },
});

const METRICS = {
  none: { spec: {}, args: [], ports: [], rights: () => [] },
  plain: {
    ...{ spec: { metrics: {} }, args: ["--metrics=:8080"], ports: [{ name: "metrics", containerPort: 8080 }] },
    rights: () => [],
  },
  secure: {
    ...{ spec: { metrics: { tokenFrom: READER } }, args: ["--metrics=:8443", "--secure"] },
    ports: [{ name: "https-metrics", containerPort: 8443 }],
    rights: (namespace: string) => [
      serviceAccount({ namespace, name: READER }),
      clusterBinding(namespace, "system:auth-delegator"),
      clusterBinding(namespace, READER, READER),
    ],
  },
};

/** A small controller with more in its container, and further rights in its namespace. */
function installed(
  options: Omit<SmallControllerOptions, "name">,
  more: Parameters<typeof withContainer>[1],
  ...rules: readonly object[]
): object[] {
  const account = { namespace: options.namespace, name: NAME };
  return [
    ...withContainer(smallController({ ...options, ...account }), more),
    ...rightsOf(account, { ...account, name: `${NAME}-more` }, ...rules),
  ];
}

/** A program that handles Widgets if its environment names their API group, and has no metrics. */
const handler =
  (program: string, image: Program["image"], commandOf: (namespace: string) => readonly string[], lease: boolean) =>
  (proxy?: number): Program => ({
    ...{ program, image, entry: manager().entry, seed: change() },
    install: (namespace, reference) => {
      const env = [...envOf(proxy), { name: "GROUP", value: groupOf(namespace) }];
      const options = { namespace, image: reference, command: commandOf(namespace), lease };
      return [...installed(options, { env }, widgetRights(namespace), EVENTS), clusterBinding(namespace, KOPF_ROLE)];
    },
  });

export const KOPF = (namespace: string): string[] => {
  return ["python3", "-m", "kopf", "run", "--standalone", `--namespace=${namespace}`, "/app/kopf_controller.py"];
};
export const kopf = handler("kopf", "asyncio", KOPF, false);
export const asyncio = handler("kubernetes_asyncio", "asyncio", () => ASYNCIO, true);
export const fabric8 = handler("fabric8", "fabric8", () => FABRIC8, true);

/** Helm repositories of a case: names, and the path of each. */
export const repositories =
  (names: readonly string[], path: string): Act =>
  ({ client, namespace }) =>
    client.apply(
      names.map(name => ({
        ...{ apiVersion: "source.toolkit.fluxcd.io/v1", kind: "HelmRepository" },
        metadata: { namespace, name, labels: { case: namespace } },
        spec: { interval: "2h", timeout: "600m", url: `http://${NODE_ADDRESS}:${REPOSITORY_PORT}/${path}/${name}` },
      })),
    );

export function source(proxy?: number, hasMetrics = true): Program {
  return {
    entry: namespace => ({ kind: "HelmRepository", for: "5m", selector: { matchLabels: { case: namespace } } }),
    ...{
      program: "Flux source-controller",
      image: "source",
      spec: hasMetrics ? { metrics: {} } : {},
      seed: repositories(SOME, "good"),
    },
    install: (namespace, image) => {
      const command = [
        ...["source-controller", "--concurrent=2", "--storage-path=/tmp", "--storage-adv-addr=localhost:9090"],
        ...["--watch-all-namespaces=false", "--enable-leader-election", "--metrics-addr=:8080", "--events-addr="],
      ];
      const env = [...envOf(proxy), { name: "RUNTIME_NAMESPACE", value: namespace }];
      const ports = hasMetrics ? [{ name: "http-prom", containerPort: 8080 }] : [];
      return [
        ...installed({ namespace, image, command }, { env, ports }, LEASES, EVENTS),
        clusterBinding(namespace, "manager-role"),
      ];
    },
  };
}

/** One controller of kube-controller-manager, which the cluster's own then may no longer do: {@link UNBOUND}. */
function controllerManager(
  controller: string,
  role: string,
  proxy?: number,
): Pick<Program, "program" | "image" | "install" | "spec"> {
  const { spec, ports, rights } = METRICS.secure;
  const flags = ["--secure-port=8443", "--authentication-skip-lookup"];
  return {
    ...{ program: "kube-controller-manager", image: "scheduler", spec },
    install: (namespace, image) => [
      ...withContainer(kubeControllerManager({ namespace, name: NAME, image }, { controller, flags }), {
        ...{ env: envOf(proxy), ports },
      }),
      clusterBinding(namespace, role),
      ...rights(namespace),
    ],
  };
}

const ROLES = {
  replicas: "system:controller:replication-controller",
  budgets: "system:controller:disruption-controller",
};

/** ClusterRoleBindings of the cluster's own kube-controller-manager to delete: the API server makes them again at its next start. */
export const UNBOUND: readonly string[] = Object.values(ROLES);

/** Objects of a kind of Kubernetes. */
const objects =
  (
    apiVersion: string,
    kind: string,
    specOf: (name: string, namespace: string) => object,
  ): ((names: readonly string[]) => Act) =>
  names =>
  ({ client, namespace }) => {
    step += 1;
    const metadata = { namespace, labels: { case: namespace } };
    const one = (name: string) => ({ ...metadata, name });
    return client.apply(names.map(name => ({ apiVersion, kind, metadata: one(name), spec: specOf(name, namespace) })));
  };

const entryOf =
  (apiVersion: string, kind: string, more: object = {}): Program["entry"] =>
  namespace => ({ apiVersion, kind, for: "5m", selector: { matchLabels: { case: namespace } }, ...more });

export const replicationControllers = objects("v1", "ReplicationController", name => {
  const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name, image: PAUSE_IMAGE }] } };
  return { replicas: 0, minReadySeconds: step, selector: { app: name }, template };
})(SOME);

export const budgets = objects("policy/v1", "PodDisruptionBudget", name => ({
  ...{ minAvailable: step, selector: { matchLabels: { app: name } } },
}))(SOME);

export const replicas = (proxy: number): Program => ({
  ...{ ...controllerManager("replicationcontroller", ROLES.replicas, proxy), seed: replicationControllers },
  entry: entryOf("v1", "ReplicationController"),
});

export const disruption = (proxy?: number): Program => ({
  ...{ ...controllerManager("disruption", ROLES.budgets, proxy), seed: budgets },
  entry: entryOf("policy/v1", "PodDisruptionBudget"),
});

/** Pods that may not be scheduled yet, and others that were: a Pod that was never seen without work proves nothing. */
const pods = (isGated: boolean, cpu: string) =>
  objects("v1", "Pod", (name, schedulerName) => ({
    ...{ schedulerName, schedulingGates: isGated ? [{ name: "example.com/wait" }] : [] },
    containers: [{ name, image: PAUSE_IMAGE, imagePullPolicy: "Never", resources: { requests: { cpu } } }],
  }));

/** kube-scheduler, and what opens the gates of its pods, which request so much processor. */
export const schedulerOf = (cpu: string, proxy?: number): Program & { readonly open: Act } => ({
  ...{ program: "kube-scheduler", image: "scheduler" },
  entry: entryOf("v1", "Pod", { due: "!has(object.spec.nodeName) && !has(object.spec.schedulingGates)" }),
  seed: async hands => {
    await pods(false, "1m")(["z"])(hands);
    await pods(true, cpu)(SOME)(hands);
  },
  open: pods(false, cpu)(SOME),
  install: (namespace, image) =>
    withContainer(kubeScheduler({ namespace, name: NAME, image, schedulerName: namespace }), { env: envOf(proxy) }),
});

const EVENTS = { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] };
