// Runs worlds for test/simulation/pool.ts, one after the other.
import type { OneOrder } from "./pool";
import { failed, resultOf, type Result } from "./results";
import { simulate } from "./simulate";
import { generate } from "./world/generate";

/** Runs one world. An error of the simulation is a result, too. */
async function run({ seed, world, hours, isHasty }: OneOrder): Promise<Result> {
  const before = process.cpuUsage();
  const plan = generate(seed, world, hours);
  try {
    const outcome = await simulate(plan, isHasty, () => process.send?.("goes on"));
    const { user, system } = process.cpuUsage(before);
    return resultOf(outcome, (user + system) / 1_000);
  } catch (error) {
    return failed(seed, plan.lastsMs, String((error as Error).stack));
  }
}

// The parent ends this process; it ends by itself if the parent is gone.
process.on("SIGINT", () => undefined);
process.on("disconnect", () => process.exit());
process.on("message", order => void run(order as OneOrder).then(result => process.send?.(result)));
