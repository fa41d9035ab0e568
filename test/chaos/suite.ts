import type { Lab } from "../lab";

/** Where a suite injects its faults: each has its own control plane. */
export interface Stage {
  readonly lab: Lab;
  /** Prints one line of progress. */
  readonly print: (line: string) => void;
  /** Registers a cleanup that runs when the suite ends for any reason, in reverse order of registration. */
  readonly defer: (end: () => Promise<void>) => void;
}

/** One kind of fault, and its result. docs/reliability.md has the results. */
export interface Finding {
  readonly fault: string;
  /** Number of injections. */
  readonly times: number;
  readonly promised: string;
  /** The observed result with its counts. */
  readonly seen: string;
  /** Broken promises, one sentence each. Empty if all were kept. */
  readonly failures: readonly string[];
}

/** A group of faults, and the checks of their results. */
export interface Suite {
  readonly name: string;
  /** One line for `--help`. */
  readonly about: string;
  /** Injects the faults. Throws only if there is no result at all. */
  run(stage: Stage): Promise<readonly Finding[]>;
}

/** Duration of the idle period at the end, in milliseconds: three intervals of full passes. */
export const QUIET_MS = 180_000;
