import { Lab } from "../lab";
import { MOST_WORKERS } from "./workers";

/**
 * Returns the name of this vitest worker's lab. Test files that run at the same time have a lab each, so that a test may restart the API server or
 * uninstall the operator. vitest numbers its workers from 1, and reuses a number only after the previous worker has ended.
 */
export function workerLabName(suite: string): string {
  return labName(suite, Number(process.env["VITEST_POOL_ID"]));
}

/** Returns the names of the labs that the workers of a suite may have brought up. */
export function workerLabNames(suite: string): string[] {
  return Array.from({ length: MOST_WORKERS }, (_, i) => labName(suite, i + 1));
}

/** Returns the lab of that name; throws if it is not up. */
export function findLab(name: string): Lab {
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
