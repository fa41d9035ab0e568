import { readFileSync } from "node:fs";

/** Returns a kubeconfig of the lab with another URL of the API server. */
export function kubeconfigVia(url: string, path: string): string {
  const config = JSON.parse(readFileSync(path, "utf8")) as { clusters: { cluster: { server: string } }[] };
  for (const { cluster } of config.clusters) cluster.server = url;
  return JSON.stringify(config);
}
