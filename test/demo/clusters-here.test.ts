import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { demosOn, demosOnClustersHere } from "./clusters-here";

const kubeconfig = (...names: string[]): string => JSON.stringify({ contexts: names.map(name => ({ name })) });

it("names the contexts of clusters on this machine, each once", () => {
  const configs = [kubeconfig("kind-a", "production"), kubeconfig("minikube", "kind-a", "k3d-b")];
  expect(demosOn(configs, false)).toEqual(
    ["kind-a", "minikube", "k3d-b"].map(name => `npm run demo -- --context ${name}`),
  );
});

it("names no other context: it may be anybody's cluster", () => {
  expect(demosOn([kubeconfig("production", "default", "mykind-x", "arn:aws:eks:x:cluster/kind-a")], false)).toEqual([]);
});

it("names k3s with its kubeconfig", () => {
  expect(demosOn([], true)).toEqual(["KUBECONFIG=/etc/rancher/k3s/k3s.yaml npm run demo -- --context default"]);
});

it("names none if a kubeconfig is missing or no kubeconfig", () => {
  const folder = mkdtempSync(join(tmpdir(), "clusters-here-"));
  try {
    const broken = join(folder, "broken");
    writeFileSync(broken, "contexts: 1\n- {");
    const whole = join(folder, "whole");
    writeFileSync(whole, kubeconfig("kind-a"));
    const found = demosOnClustersHere({ KUBECONFIG: [join(folder, "none"), broken, whole].join(delimiter) });
    expect(found.slice(0, 1)).toEqual(["npm run demo -- --context kind-a"]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
