import { SYSTEM_NAMESPACE } from "../../core/text";

// What is a component of the cluster, and which programs log the 401s of others: one list, for every remedy. Pure.

/** What may tell what a workload or a pod is. */
export interface Signs {
  readonly namespace: string;
  /** Its name and that of its ServiceAccount. */
  readonly names?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** References of the images of its containers. */
  readonly images?: readonly string[];
  /** Folders of its node that it mounts. */
  readonly hostPaths?: readonly string[];
  readonly priorityClassName?: string;
}

const CRITICAL = /^system-(node|cluster)-critical$/;

/** Such as /etc/cni/net.d and /opt/cni/bin; distributions use other folders, but keep the word. */
const CNI = wordsOf(["cni"]);

/** Parts of paths of a node, names, images and labels: without these programs no pod starts, is reached, mounts a volume or is admitted, or no namespace goes, since an aggregated API fails. */
const COMPONENTS = wordsOf([
  ...["cni", "antrea", "calico", "cilium", "coredns", "flannel", "flannel-io", "kube-dns", "kube-ovn", "kubeovn"],
  ...["ovnkube", "kube-proxy", "multus", "csi", "plugins_registry", "longhorn", "longhornio", "openebs", "rook"],
  ...["scheduler", "kueue", "volcanosh", "webhook", "admission", "gatekeeper", "kyverno", "policy-server", "injector"],
  ...["istiod", "kuma-(cp|control-plane)", "linkerd-(identity|destination)"],
  ...["apiserver", "metrics-server", "metrics-[a-z-]*adapter", "(prometheus|cloudwatch)-adapter"],
  ...["datadog[a-z]*[/-]cluster-agent", "kapp-controller", "virt-api"],
  ...["packageserver", "ocm-proxyserver", "cluster-gateway"],
]);

/** Labels whose values name a program, or say what it does. */
const NAMING_LABELS = [
  ...["app", "k8s-app", "operator"],
  ...["name", "component", "part-of"].map(name => `app.kubernetes.io/${name}`),
];

/**
 * Reports whether something is a component of the cluster: it is in kube-system, has a system-critical priority class, mounts a CNI, CSI or DRA
 * folder of its node, or its name, ServiceAccount, image or label has the word of one.
 */
export function isComponent(signs: Signs): boolean {
  const { namespace, names = [], labels = {}, images = [], hostPaths = [], priorityClassName = "" } = signs;
  if (namespace === SYSTEM_NAMESPACE || CRITICAL.test(priorityClassName)) return true;
  const values = NAMING_LABELS.map(key => labels[key] ?? "");
  return [...names, ...values, ...hostPaths, ...images.map(projectOf)].some(text => COMPONENTS.test(text));
}

/** Reports whether a path of a node is a folder of the network plugins. */
export function isCniFolder(path: string): boolean {
  return CNI.test(path);
}

/** Programs that log the 401s of other clusters, or of their users, by image repository and label. */
const RELAYS: readonly string[] = [
  ...["argoproj/argocd", "argo-cd/argocd", "app.kubernetes.io/part-of=argocd"],
  ...["cluster-api/cluster-api-controller", "capi-operator/cluster-api-operator"],
  ...["cluster-api/kubeadm-bootstrap-controller", "cluster-api/kubeadm-control-plane-controller"],
  ...["cluster-api", "bootstrap-kubeadm", "control-plane-kubeadm"].map(name => `cluster.x-k8s.io/provider=${name}`),
  ...["kubernetesui/dashboard", "kubernetesui/dashboard-api", "kubernetesui/dashboard-auth"],
  ...["k8s-app=kubernetes-dashboard", "headlamp-k8s/headlamp", "app.kubernetes.io/name=headlamp", "rancher/rancher"],
];

/** Reports whether the 401s in its log may be those of others, so that they are no evidence against its own token: Argo CD, Cluster API, dashboards. */
export function logsForeign401s({ labels = {}, images = [] }: Pick<Signs, "labels" | "images">): boolean {
  const signs = new Set([...images.map(projectOf), ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)]);
  return RELAYS.some(sign => signs.has(sign));
}

/** The last two parts of a reference, without tag and digest, so that mirrors match: of `host:5000/team/app:v1@sha256:...` it is `team/app`. */
function projectOf(image: string): string {
  const repository = image.replace(/@.*$/, "").replace(/:[^/:]*$/, "");
  return repository.split("/").slice(-2).join("/");
}

/** A word, or a pattern, is a part of a name between separators, so that a descheduler is no scheduler. */
function wordsOf(words: readonly string[]): RegExp {
  return new RegExp(`(^|[/._-])(${words.join("|")})([/._-]|$)`, "i");
}
