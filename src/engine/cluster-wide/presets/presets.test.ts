import { describe, expect, it } from "vitest";
import type { ClusterControllerResilience } from "../../../api/cluster-controller-resilience";
import { candidate, clusterObject } from "../testing/fixtures";
import { PRESETS } from "./data";
import { presetFor, withPreset } from "./presets";

const recognized = (image: string, labels: Record<string, string> = {}) =>
  presetFor(candidate("Deployment/any", { images: [image], labels }), [])?.name;

const template = {
  tokenRestart: { evidence: ["Logs"], cooldown: "20m" },
  flowIsolation: { requestRate: { threshold: 5, onRunaway: "Throttle" } },
} as unknown as ClusterControllerResilience["spec"]["template"];

describe("presets", () => {
  it.each([
    ["quay.io/argoproj/argocd:v3.1.0", "argo-cd"],
    ["registry.example:5000/mirror/argoproj/argocd@sha256:0123", "argo-cd"],
    ["argoproj/argocd", "argo-cd"],
    ["ghcr.io/argoproj/argo-cd/argocd:3.1.0-dc1d148a", "argo-cd"],
    ["registry.k8s.io/capi-operator/cluster-api-operator:v0.22.0", "cluster-api"],
    ["602401143452.dkr.ecr.us-east-1.amazonaws.com/amazon-k8s-cni:v1.20.0", "network"],
    ["ghcr.io/k8snetworkplumbingwg/multus-cni:snapshot-thick", "network"],
    ["ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.14.1", "scheduling-and-admission"],
    ["ghcr.io/nvidia/kai-scheduler/scheduler:v0.12.10", "scheduling-and-admission"],
    ["docker.io/calico/node:v3.30.0", "network"],
    ["registry.k8s.io/kube-scheduler:v1.36.0", "scheduling-and-admission"],
    ["example.com/notargoproj/argocd-tools:v1", undefined],
    ["example.com/team/my-kube-scheduler:v1", undefined],
    ["example.com/argocd:v1", undefined],
  ])("recognizes %s as %s", (image, name) => {
    expect(recognized(image)).toBe(name);
  });

  it("recognizes labels, and never a name alone", () => {
    expect(recognized("example.com/x:1", { "app.kubernetes.io/part-of": "argocd" })).toBe("argo-cd");
    expect(presetFor(candidate("Deployment/argocd-server"), [])).toBeUndefined();
  });

  it("changes only the blocks that the template has", () => {
    const { spec } = clusterObject("all", { template });
    const argo = withPreset(spec, candidate("Deployment/a", { images: ["argoproj/argocd"] }));
    expect(argo.template).toEqual({
      ...template,
      tokenRestart: { evidence: ["ServiceAccountAge"], cooldown: "20m" },
    });
    const flows = withPreset(spec, candidate("Deployment/a", { images: ["kyverno/kyverno"] }));
    expect(flows.template.flowIsolation?.requestRate).toEqual({ threshold: 5, onRunaway: "Report" });
    const only = clusterObject("all", { template: { bindingRenewal: {} as never } }).spec;
    expect(withPreset(only, candidate("Deployment/a", { images: ["argoproj/argocd"] }))).toEqual({
      template: only.template,
    });
  });

  it("uses none that is disabled", () => {
    const argo = candidate("Deployment/a", { images: ["argoproj/argocd"] });
    expect(presetFor(argo, ["argo-cd"])).toBeUndefined();
    expect(presetFor(argo, ["*"])).toBeUndefined();
    expect(presetFor(argo, ["network"])?.name).toBe("argo-cd");
  });

  it("have names that fit into a label and into the name of an object", () => {
    expect(new Set(PRESETS.map(({ name }) => name)).size).toBe(PRESETS.length);
    for (const { name } of PRESETS) expect(name).toMatch(/^[a-z][-a-z]{0,30}$/);
  });
});
