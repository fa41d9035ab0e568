import type { TestProject } from "vitest/node";
import { Lab } from "../lab";
import { MOST_WORKERS } from "./workers";

/**
 * Brings up a lab for each vitest worker of a suite; on a fresh machine, building what it needs takes longer than a test may. A lab that stays is
 * reused and left up, so that running one test again takes seconds. Returns what takes down the others.
 */
export async function bringUpLabs(
  { vitest }: TestProject,
  suite: string,
  bringUp: (name: string) => Promise<void>,
): Promise<() => Promise<void>> {
  const workers = Math.min(vitest.config.maxWorkers, vitest.state.getPaths().length);
  const names = Array.from({ length: workers }, (_, i) => labName(suite, i + 1));
  await Promise.all(names.map(bringUp));
  return async () => {
    const own = names.map(findLab).filter(({ stays }) => !stays);
    await Promise.all(own.map(lab => lab.down()));
  };
}

/**
 * Returns the lab of this vitest worker. Test files that run at the same time have a lab each, so that a test may restart the API server or
 * uninstall the operator. vitest numbers its workers from 1, and reuses a number only after the previous worker has ended.
 */
export function workerLab(suite: string): Lab {
  return findLab(labName(suite, Number(process.env["VITEST_POOL_ID"])));
}

function findLab(name: string): Lab {
  const lab = Lab.find(name);
  if (lab === undefined) throw new Error(`the lab "${name}" is not up`);
  return lab;
}

function labName(suite: string, worker: number): string {
  if (!(worker >= 1 && worker <= MOST_WORKERS))
    throw new Error(
      `worker ${worker}: expected a number from 1 to ${MOST_WORKERS}; run vitest with at most ${MOST_WORKERS} workers`,
    );
  return `${suite}-${worker}`;
}
