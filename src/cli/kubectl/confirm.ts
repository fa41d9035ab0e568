import { createInterface } from "node:readline/promises";
import { terminalText } from "../terminal-text";
import { CliError, type Io } from "./io";

/**
 * Asks before a write. Returns whether the user agrees.
 *
 * @param consequence what will happen, as whole sentences
 * @throws CliError without a terminal, unless the user has agreed with `--yes`
 */
export async function confirm(consequence: string, { yes }: { yes?: boolean }, io: Io): Promise<boolean> {
  if (yes === true) return true;
  if (io.stdin.isTTY !== true) throw new CliError(`${consequence} Expected --yes, or a terminal to confirm it on.`);
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await lines.question(`${terminalText(consequence)}\nContinue? [y/N] `);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
