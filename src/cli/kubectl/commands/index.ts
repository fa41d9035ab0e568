import type { Command } from "commander";
import type { Shell } from "../command";
import { registerAudit } from "./audit";
import { registerBreaker, registerRelease, registerResume, registerSuspend } from "./changes";
import { registerClassify } from "./classify";
import { registerCompletion } from "./completion";
import { registerExplain } from "./explain";
import { registerPlan } from "./plan";
import { registerReplay } from "./replay";
import { registerVersion } from "./version";

/** Every command; --help lists them in this order. */
export const COMMANDS: readonly ((program: Command, shell: Shell) => void)[] = [
  // On a cluster.
  registerAudit,
  registerExplain,
  registerPlan,
  registerVersion,
  // What changes something.
  registerBreaker,
  registerRelease,
  registerSuspend,
  registerResume,
  // On log files.
  registerClassify,
  registerReplay,
  registerCompletion,
];
