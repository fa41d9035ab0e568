import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { locateCluster } from "./connection";

const SERVICE_ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "connection-"));
  vi.stubEnv("KUBERNETES_SERVICE_HOST", "10.96.0.1");
  vi.stubEnv("KUBERNETES_SERVICE_PORT", "443");
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** The kubeconfig that client-node derives from a pod's own files. */
function podConfig(namespace?: string): () => KubeConfig {
  const pod = join(folder, String(namespace?.length));
  mkdirSync(join(pod, SERVICE_ACCOUNT), { recursive: true });
  if (namespace !== undefined) writeFileSync(join(pod, SERVICE_ACCOUNT, "namespace"), namespace);
  return () => {
    const config = new KubeConfig();
    config.loadFromCluster(pod);
    return config;
  };
}

function kubeconfig(text: string): () => KubeConfig {
  return () => {
    const config = new KubeConfig();
    config.loadFromString(text);
    return config;
  };
}

describe("locateCluster", () => {
  it("returns the namespace of its own pod", () => {
    expect(locateCluster(podConfig("operators\n"))).toEqual({
      server: "https://10.96.0.1:443",
      podNamespace: "operators",
    });
  });

  it("omits the namespace if the pod has no such file", () => {
    expect(locateCluster(podConfig())).toEqual({ server: "https://10.96.0.1:443" });
  });

  it("takes only the server of a kubeconfig, not the namespace of its owner", () => {
    const config = {
      clusters: [{ name: "c", cluster: { server: "https://a:6443" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "somewhere" } }],
      users: [{ name: "u", user: {} }],
      "current-context": "x",
    };
    expect(locateCluster(kubeconfig(JSON.stringify(config)))).toEqual({ server: "https://a:6443" });
  });

  it("throws with what it expected if there is no configuration", () => {
    const nothing = (): KubeConfig => {
      const config = new KubeConfig();
      config.loadFromClusterAndUser(
        { name: "cluster", server: "http://localhost:8080", skipTLSVerify: false },
        { name: "user" },
      );
      return config;
    };
    expect(() => locateCluster(nothing)).toThrow("found no cluster; expected a kubeconfig");
  });
});
