import type { FlowIsolationSpec, TokenRestartSpec } from "../../../api/controller-resilience";

/** What a well-known program needs otherwise than the template says. */
export interface Preset {
  readonly name: string;
  /** Ends of image repositories, from a slash on, so that mirrors match too: `argoproj/argocd` matches `mirror.example/argoproj/argocd`. */
  readonly images: readonly string[];
  /** Labels of the workload, one of which is enough. */
  readonly labels: readonly (readonly [key: string, value: string])[];
  readonly changes: {
    readonly evidence?: TokenRestartSpec["evidence"];
    readonly onRunaway?: FlowIsolationSpec["requestRate"]["onRunaway"];
  };
  /** One sentence for the documentation. */
  readonly why: string;
}

const PART_OF = "app.kubernetes.io/part-of";
const APP = "app.kubernetes.io/name";

/** The first preset that recognizes a workload counts. Image names are those of each project's own manifests. */
export const PRESETS: readonly Preset[] = [
  {
    name: "argo-cd",
    images: ["argoproj/argocd", "argoproj/argo-cd/argocd"],
    labels: [[PART_OF, "argocd"]],
    changes: { evidence: ["ServiceAccountAge"] },
    why: "Argo CD logs the 401 responses of other clusters and of its users.",
  },
  {
    name: "cluster-api",
    images: [
      "cluster-api/cluster-api-controller",
      "cluster-api/kubeadm-bootstrap-controller",
      "cluster-api/kubeadm-control-plane-controller",
      "capi-operator/cluster-api-operator",
    ],
    labels: [
      ["cluster.x-k8s.io/provider", "cluster-api"],
      ["cluster.x-k8s.io/provider", "bootstrap-kubeadm"],
      ["cluster.x-k8s.io/provider", "control-plane-kubeadm"],
    ],
    changes: { evidence: ["ServiceAccountAge"] },
    why: "The controllers of Cluster API log the 401 responses of the clusters that they manage.",
  },
  {
    name: "dashboard",
    images: [
      "kubernetesui/dashboard",
      "kubernetesui/dashboard-api",
      "kubernetesui/dashboard-auth",
      "headlamp-k8s/headlamp",
      "rancher/rancher",
    ],
    labels: [
      [APP, "headlamp"],
      ["k8s-app", "kubernetes-dashboard"],
    ],
    changes: { evidence: ["ServiceAccountAge"] },
    why: "Dashboards log the 401 responses that their users' tokens get.",
  },
  {
    name: "network",
    images: [
      "calico/node",
      "calico/kube-controllers",
      "calico/typha",
      "cilium/cilium",
      "cilium/operator-generic",
      "flannel/flannel",
      "flannel-io/flannel",
      "antrea/antrea-agent-ubuntu",
      "antrea/antrea-controller-ubuntu",
      "kubeovn/kube-ovn",
      "amazon-k8s-cni",
      "k8snetworkplumbingwg/multus-cni",
      "kube-proxy",
      "coredns/coredns",
    ],
    labels: [
      ["k8s-app", "calico-node"],
      ["k8s-app", "cilium"],
      ["k8s-app", "kube-proxy"],
      ["k8s-app", "kube-dns"],
    ],
    changes: { onRunaway: "Report" },
    why: "Without the agents of the cluster network no pod starts or is reached.",
  },
  {
    name: "storage",
    images: [
      "rook/ceph",
      "longhornio/longhorn-manager",
      "sig-storage/csi-provisioner",
      "sig-storage/csi-attacher",
      "openebs/provisioner-localpv",
      "openebs/lvm-driver",
    ],
    labels: [
      ["operator", "rook"],
      ["app", "longhorn-manager"],
    ],
    changes: { onRunaway: "Report" },
    why: "Pods that mount volumes wait for storage operators and CSI drivers.",
  },
  {
    name: "scheduling-and-admission",
    images: [
      "kube-scheduler",
      "kai-scheduler/scheduler",
      "volcanosh/vc-scheduler",
      "volcanosh/vc-webhook-manager",
      "kueue/kueue",
      "jetstack/cert-manager-webhook",
      "openpolicyagent/gatekeeper",
      "kyverno/kyverno",
    ],
    labels: [
      ["app.kubernetes.io/component", "scheduler"],
      ["app.kubernetes.io/component", "webhook"],
      ["app.kubernetes.io/component", "admission-controller"],
    ],
    changes: { onRunaway: "Report" },
    why: "While a scheduler or an admission webhook is throttled, other requests and pods wait for it.",
  },
];
