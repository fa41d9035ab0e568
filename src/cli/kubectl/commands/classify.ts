import type { Command } from "commander";
import { defineClassify } from "../../classify/command";
import { CALL } from "../command";

/** `classify` of src/cli/classify. */
export function registerClassify(program: Command): void {
  defineClassify(program.command("classify"), { call: `${CALL} classify`, replay: `${CALL} replay` });
}
