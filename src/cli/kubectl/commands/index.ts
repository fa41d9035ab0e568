import type { Command } from "commander";
import type { Shell } from "../command";
import { registerClassify } from "./classify";
import { registerReplay } from "./replay";
import { registerVersion } from "./version";

/** Every command; --help lists them in this order. */
export const COMMANDS: readonly ((program: Command, shell: Shell) => void)[] = [
  // On a cluster.
  registerVersion,
  // On log files.
  registerClassify,
  registerReplay,
];
