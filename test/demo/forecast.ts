import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { parse } from "yaml";
import { isBuilt } from "../controllers/operator-image";
import { builtPath } from "../lab/go-build";
import { controlPlane } from "../lab/kubernetes";

/** Something that a demonstration does, and how many minutes it takes on two cores: the least and the most that was measured. */
interface Step {
  readonly what: string;
  readonly minutes: readonly [least: number, most: number];
  /** True if later demonstrations need not do it. */
  readonly isOnce: boolean;
}

const PLAY: Step = {
  what: "start a one-node cluster, install the operator, break a controller, watch",
  minutes: [1, 3],
  isOnce: false,
};

/** What a demonstration on a cluster of the user does. */
export const STEPS_ON_A_CLUSTER: readonly Step[] = [
  { what: "install what the operator needs, break a controller, watch", minutes: [1, 2], isOnce: false },
];

/** What a demonstration in a lab has to do on this machine, and what takes less time here; `clusters` are commands. */
export function stepsAhead(clusters: readonly string[]): { steps: Step[]; shorter: readonly string[] } {
  const isNeeded = !existsSync(builtPath(controlPlane()));
  const builds: Step[] = [];
  // The operator is built at the same time.
  if (isNeeded) builds.push({ what: "build etcd, Kubernetes and the operator", minutes: [4, 12], isOnce: true });
  else if (!isBuilt()) builds.push({ what: "build the operator", minutes: [1, 2], isOnce: true });
  const steps = [...builds, PLAY];
  return { steps, shorter: isNeeded ? clusters : [] };
}

/** Tells the steps, how long they take together, and what takes less time than building. Pure. */
export function forecast(steps: readonly Step[], shorter: readonly string[] = []): string {
  const lines = steps.map(({ what, minutes, isOnce }) => `- ${what}${isOnce ? ", once" : ""}: ${range(minutes)}`);
  const all = range(total(steps));
  const later = range(total(steps.filter(({ isOnce }) => !isOnce)));
  const head = steps.some(({ isOnce }) => isOnce) ? `This takes ${all}; the next time ${later}.` : `This takes ${all}.`;
  const faster = shorter.length === 0 ? [] : ["In less time:", ...shorter.map(way => `- ${way}`)];
  return [head, ...lines, ...faster].join("\n");
}

function total(steps: readonly Step[]): [number, number] {
  const sum = (which: 0 | 1): number => steps.reduce((so, { minutes }) => so + minutes[which], 0);
  return [sum(0), sum(1)];
}

function range([least, most]: readonly [number, number]): string {
  if (least === most) return `${most} minute${most === 1 ? "" : "s"}`;
  return `${least} to ${most} minutes`;
}

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
function demosOn(kubeconfigs: readonly string[], hasK3s: boolean): string[] {
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
