import { describe, expect, it } from "vitest";
import { isComponent, logsForeign401s, type Signs } from "./components";

const namespace = "web";

describe("a component of the cluster", () => {
  it.each<[string, Omit<Signs, "namespace"> & { namespace?: string }]>([
    ["kube-system", { namespace: "kube-system" }],
    ["a critical priority class", { priorityClassName: "system-node-critical" }],
    ["a CNI folder", { hostPaths: ["/etc/cni/net.d"] }],
    ["a CSI folder", { hostPaths: ["/var/lib/kubelet/plugins/csi-x/"] }],
    ["the kubelet's folder of plugins, as of a DRA driver", { hostPaths: ["/var/lib/kubelet/plugins_registry"] }],
    ["a CSI image", { images: ["r.io/csi/csi-provisioner:v5@sha256:0"] }],
    ["a name", { names: ["kai-scheduler"] }],
    ["the name of an injector", { names: ["linkerd-proxy-injector"] }],
    ["the names of OVN-Kubernetes", { names: ["ovnkube-control-plane", "ovnkube-cluster-manager"] }],
    ["the name of Kubewarden's server", { names: ["policy-server-default"] }],
    ["the name of what gives Linkerd's proxies certificates", { names: ["linkerd-identity"] }],
    ["the name of Datadog's agent", { names: ["datadog-cluster-agent"] }],
    ["the name of OLM's API server", { names: ["packageserver"], images: ["quay.io/operator-framework/olm:v0.38.0"] }],
    ["a label of Istio's", { labels: { app: "istiod" } }],
    ["a label", { labels: { "app.kubernetes.io/component": "admission-controller" } }],
    ...[
      "602401143452.dkr.ecr.us-east-1.amazonaws.com/amazon-k8s-cni:v1.20.0",
      "ghcr.io/k8snetworkplumbingwg/multus-cni:snapshot-thick",
      "ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.14.1",
      "docker.io/calico/node:v3.30.0",
      "quay.io/cilium/operator-generic:v1.18.0",
      "docker.io/rook/ceph:v1.18.0",
      "docker.io/volcanosh/vc-webhook-manager:v1.12.0",
      "registry.k8s.io/kueue/kueue:v0.13.0",
      "quay.io/jetstack/cert-manager-webhook:v1.18.0",
      "docker.io/openpolicyagent/gatekeeper:v3.20.0",
      "ghcr.io/kyverno/kyverno:v1.15.0",
      "registry.k8s.io/metrics-server/metrics-server:v0.8.0",
      "ghcr.io/kedacore/keda-metrics-apiserver:2.18.0",
      "registry.k8s.io/prometheus-adapter/prometheus-adapter:v0.12.0",
      "registry.opensource.zalan.do/teapot/kube-metrics-adapter:v0.2.3",
      "chankh/k8s-cloudwatch-adapter:v0.10.0",
      "gcr.io/gke-release/custom-metrics-stackdriver-adapter:v0.16.3",
      "ghcr.io/carvel-dev/kapp-controller:v0.58.0",
      "quay.io/kubevirt/virt-api:v1.6.0",
      "gcr.io/datadoghq/cluster-agent:7.70.0",
      "docker.io/kumahq/kuma-cp:2.11.0",
      "quay.io/stolostron/ocm-proxyserver:2.14",
      "docker.io/oamdev/cluster-gateway:v1.9.0",
    ].map((image): [string, Omit<Signs, "namespace">] => [image, { images: [image] }]),
  ])("is known by %s", (_, signs) => {
    expect(isComponent({ namespace, ...signs })).toBe(true);
  });

  it.each<[string, Omit<Signs, "namespace">]>([
    ["another priority class", { priorityClassName: "system-like" }],
    ["a descheduler", { names: ["descheduler"], images: ["r.io/tools/descheduler"] }],
    ["an agent of Rancher's", { names: ["cattle-cluster-agent", "cattle"], labels: { app: "cattle-cluster-agent" } }],
    ["an adapter of another kind", { names: ["slack-adapter"], images: ["r.io/team/foo-adapter:v1"] }],
    ["the host of a registry", { images: ["csi.example:5000/team/web:v1"] }],
    ["another folder and label", { hostPaths: ["/var/log"], labels: { team: "scheduler" } }],
  ])("is not known by %s", (_, signs) => {
    expect(isComponent({ namespace, ...signs })).toBe(false);
  });
});

describe("a program that logs the 401s of others", () => {
  it.each([
    ["quay.io/argoproj/argocd:v3.1.0", true],
    ["registry.example:5000/mirror/argoproj/argocd@sha256:0123", true],
    ["argoproj/argocd", true],
    ["ghcr.io/argoproj/argo-cd/argocd:3.1.0-dc1d148a", true],
    ["registry.k8s.io/capi-operator/cluster-api-operator:v0.22.0", true],
    ["example.com/notargoproj/argocd-tools:v1", false],
    ["example.com/argocd:v1", false],
  ])("is known by its image: %s is %s", (image, expected) => {
    expect(logsForeign401s({ images: ["r.io/init:v1", image] })).toBe(expected);
  });

  it("is known by its labels", () => {
    expect(logsForeign401s({ labels: { "app.kubernetes.io/part-of": "argocd" } })).toBe(true);
    expect(logsForeign401s({ labels: { "app.kubernetes.io/part-of": "web" } })).toBe(false);
  });
});
