import type { Command } from "commander";
import { defineReplay } from "../../replay/command";
import { CALL } from "../command";

/** `replay` of src/cli/replay. */
export function registerReplay(program: Command): void {
  defineReplay(program.command("replay"), { call: `${CALL} replay` });
}
