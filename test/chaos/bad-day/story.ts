import type { Lab } from "../../lab";
import type { Rig } from "../rig";
import type { Finding } from "../suite";
import type { Dice } from "./dice";

/** What a story needs. */
export interface World {
  readonly lab: Lab;
  readonly rig: Rig;
  /** Random choices of this story. */
  readonly dice: Dice;
  /** Prints one line of progress. */
  readonly print: (line: string) => void;
  /** Workloads that fail at once. Must be more than trip the restart breaker. */
  readonly workloads: number;
  /** Part of `npm test`: shorter times where they suffice. */
  readonly isShort: boolean;
}

/** One thing that goes wrong, and what is promised then. */
export interface Story {
  readonly name: string;
  /** The story changes the whole cluster, so no other one happens at the same time. */
  readonly isAlone?: boolean;
  tell(world: World): Promise<Finding>;
}
