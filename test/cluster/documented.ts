import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Lab } from "../lab";
import { must } from "../lab/commands";
import { helmProgram } from "../lab/helm";

const root = join(__dirname, "..", "..");
const TIMEOUT_MS = 300_000;

/** The commands that a page of docs/ shows below a heading: the lines that are indented, up to the next heading. */
export function documentedCommands(page: string, heading: string): string {
  const lines = readFileSync(join(root, "docs", page), "utf8").split("\n");
  const start = lines.findIndex(line => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  if (start < 0) throw new Error(`docs/${page} has no heading "${heading}"`);
  const end = lines.findIndex((line, i) => i > start && /^#+ /.test(line));
  const shown = lines.slice(start + 1, end < 0 ? undefined : end).filter(line => line.startsWith("    "));
  if (shown.length === 0) throw new Error(`docs/${page} shows no command below "${heading}"`);
  return shown.map(line => line.slice(4)).join("\n");
}

/** Runs such commands as a reader would, as administrator of a lab, from the top of this repository; throws at the first that fails. */
export async function follow(lab: Lab, commands: string): Promise<string> {
  const { PATH = "", ...env } = lab.environment;
  const path = `${dirname(await helmProgram())}:${PATH}`;
  return must(["bash", "-euo", "pipefail", "-c", `cd "$REPOSITORY"\n${commands}`], {
    env: { ...env, PATH: path, REPOSITORY: root },
    timeoutMs: TIMEOUT_MS,
  });
}
