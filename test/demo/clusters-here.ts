import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { parse } from "yaml";

/** Names of contexts of clusters on this machine, as their tools call them. Other contexts may be anybody's cluster. */
const LOCAL = /^(kind-.+|k3d-.+|minikube|docker-desktop|rancher-desktop|orbstack|colima(-.+)?|microk8s)$/;

/** Where k3s writes its kubeconfig, whose only context is `default`. */
const K3S = "/etc/rancher/k3s/k3s.yaml";

/** The commands for a demonstration on a cluster that runs on this machine. Reads files only. */
export function demosOnClustersHere(env: NodeJS.ProcessEnv = process.env): string[] {
  const paths = (env["KUBECONFIG"] ?? "").split(delimiter).filter(Boolean);
  const files = paths.length > 0 ? paths : [join(homedir(), ".kube", "config")];
  return demosOn(files.map(read), existsSync(K3S));
}

/** The commands, with the texts of kubeconfigs. Pure. */
export function demosOn(kubeconfigs: readonly string[], hasK3s: boolean): string[] {
  const local = [...new Set(kubeconfigs.flatMap(contextsIn))].filter(name => LOCAL.test(name));
  const demos = local.map(name => `npm run demo -- --context ${name}`);
  return hasK3s ? [...demos, `KUBECONFIG=${K3S} npm run demo -- --context default`] : demos;
}

function contextsIn(text: string): string[] {
  try {
    const { contexts } = parse(text) as { contexts: readonly { readonly name: string }[] };
    return contexts.map(({ name }) => name);
  } catch {
    // No kubeconfig: kubectl says so if it is used.
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
