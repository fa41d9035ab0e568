import type { Lab } from "../lab";

/** Where the faults of one suite are injected: a control plane of its own, and how much of it. */
export interface Stage {
  readonly lab: Lab;
  /** Decides whatever is chosen at random. */
  readonly seed: number;
  /** The long way: everything, and left alone for longer. */
  readonly isFull: boolean;
  /** One line of progress. */
  readonly print: (line: string) => void;
  /** What has to end with the suite, however it ends: the last that was told is the first to be ended. */
  readonly defer: (end: () => Promise<void>) => void;
}

/** One kind of fault, and its result. docs/reliability.md has the results. */
export interface Finding {
  readonly fault: string;
  /** How often it was injected. */
  readonly times: number;
  readonly promised: string;
  /** With the counts that show it. */
  readonly seen: string;
  /** What was not as promised, one sentence each. Empty: all was. */
  readonly failures: readonly string[];
}

/** Faults of one sort, with the oracle that tells what they may not do. */
export interface Suite {
  readonly name: string;
  /** One line for `--help`. */
  readonly about: string;
  /** It measures, so no other is played at the same time. */
  readonly isAlone?: boolean;
  /** Injects them; throws only where nothing can be said at all. */
  run(stage: Stage): Promise<readonly Finding[]>;
}

/** How long the cluster is left alone at the end, in milliseconds: shorter than a full pass of the operator, and three of them. */
export function quietMs({ isFull }: Pick<Stage, "isFull">): number {
  return isFull ? 180_000 : 30_000;
}
