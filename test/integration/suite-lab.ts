import { inject } from "vitest";
import { Admin } from "../cluster/admin";
import { workerLab } from "../cluster/worker-labs";
import type { Lab } from "../lab";

/** The lab of this worker. No other test file uses it at the same time. */
export function suiteLab(): Lab {
  return workerLab(inject("integrationLabs"));
}

/** Reads and writes as an administrator of that lab. */
export function suiteAdmin(): Admin {
  return Admin.of(suiteLab());
}

/** The name of a lab that one test file brings up for itself. */
export function ownLabName(what: string): string {
  return `${inject("integrationLabs")}-${what}`;
}
