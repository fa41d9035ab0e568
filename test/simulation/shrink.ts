import type { Plan } from "./world/plan";

// Finds the smallest plan that still fails, by leaving out halves, quarters, and so on (delta debugging).

/** The lists of a plan of which parts can be left out, in the order in which this makes a plan easier to read. */
const LISTS = ["happenings", "workloads", "objects", "bindings", "operators"] as const;

/** Lists that must not become empty. */
const NEEDED: readonly string[] = ["workloads", "objects", "operators"];

/**
 * Returns the plan without all that it does not need to fail.
 *
 * @param fails runs a plan; called once for each try
 * @param most tries at most
 */
export async function shrink(plan: Plan, fails: (plan: Plan) => Promise<boolean>, most = 200): Promise<Plan> {
  let best = plan;
  let left = most;
  const tryIt = async (smaller: Plan): Promise<boolean> => {
    if (left-- <= 0 || !(await fails(smaller))) return false;
    best = smaller;
    return true;
  };
  if (plan.servers > 1) await tryIt({ ...best, servers: 1 });
  for (let isSmaller = true; isSmaller && left > 0; ) {
    isSmaller = false;
    for (const name of LISTS) isSmaller = (await shrinkList(name, () => best, tryIt)) || isSmaller;
  }
  return best;
}

async function shrinkList(
  name: (typeof LISTS)[number],
  current: () => Plan,
  tryIt: (plan: Plan) => Promise<boolean>,
): Promise<boolean> {
  let hasShrunk = false;
  for (let size = Math.ceil(current()[name].length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < current()[name].length; ) {
      const list: readonly unknown[] = current()[name];
      const rest = [...list.slice(0, at), ...list.slice(at + size)];
      const isAllowed = rest.length > 0 || !NEEDED.includes(name);
      if (isAllowed && (await tryIt({ ...current(), [name]: rest }))) hasShrunk = true;
      else at += size;
    }
  }
  return hasShrunk;
}
