import { inject } from "vitest";
import { findLab, workerLabName } from "../cluster/worker-labs";
import type { Lab } from "../lab";

/** The lab of this worker: no other test file uses it meanwhile. */
export function suiteLab(): Lab {
  return findLab(workerLabName(inject("integrationLabs")));
}

/** The name of a lab that a test file brings up for itself alone. */
export function ownLabName(what: string): string {
  return `${inject("integrationLabs")}-${what}`;
}
