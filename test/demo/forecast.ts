import { existsSync } from "node:fs";
import { isBuilt } from "../controllers/operator-image";
import { builtPath } from "../lab/go-build";
import { helmProduct } from "../lab/helm";
import { controlPlane } from "../lab/kubernetes";

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

/** What a demonstration in a lab has to do on this machine. */
export function stepsAhead(): Step[] {
  const builds: [boolean, Step][] = [
    [existsSync(builtPath(controlPlane())), { what: "build etcd and Kubernetes", minutes: [5, 12], isOnce: true }],
    [isBuilt(), { what: "build the operator", minutes: [1, 2], isOnce: true }],
    [existsSync(builtPath(helmProduct())), { what: "build Helm", minutes: [1, 3], isOnce: true }],
  ];
  return [...builds.filter(([isDone]) => !isDone).map(([, step]) => step), PLAY];
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
