import { isBuilt } from "../controllers/operator-image";
import { mustBuild } from "../lab/programs";

/** Something that a demonstration does, and how many minutes it takes on two cores: the least and the most that was measured. */
export interface Step {
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

/** Published programs instead of a build. */
const ASSETS =
  "KUBEBUILDER_ASSETS=FOLDER npm run demo, with etcd, kubectl, kubelet and the kube-... programs of one version there";

/** What a demonstration in a lab has to do on this machine, and what takes less time here; `clusters` are commands. */
export async function stepsAhead(clusters: readonly string[]): Promise<{ steps: Step[]; shorter: string[] }> {
  const isNeeded = await mustBuild();
  const builds: Step[] = [];
  // The operator is built at the same time.
  if (isNeeded) builds.push({ what: "build etcd, Kubernetes and the operator", minutes: [4, 12], isOnce: true });
  else if (!isBuilt()) builds.push({ what: "build the operator", minutes: [1, 2], isOnce: true });
  const steps = [...builds, PLAY];
  return { steps, shorter: isNeeded ? [...clusters, ASSETS] : [] };
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
