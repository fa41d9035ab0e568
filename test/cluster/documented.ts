import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Lab } from "../lab";
import { must } from "../lab/commands";
import { helmProgram } from "../lab/helm";

const root = join(__dirname, "..", "..");
const TIMEOUT_MS = 300_000;

/** Returns the commands of a page of docs/ below a heading: its ```sh blocks, up to the next heading. */
export function documentedCommands(page: string, heading: string): string {
  const lines = readFileSync(join(root, "docs", page), "utf8").split("\n");
  const start = lines.findIndex(line => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  if (start < 0) throw new Error(`docs/${page} has no heading "${heading}"`);
  const end = lines.findIndex((line, i) => i > start && /^#+ /.test(line));
  const section = lines.slice(start + 1, end < 0 ? undefined : end).join("\n");
  const blocks = [...section.matchAll(/^```sh\n(.*?)\n```$/gms)].map(([, commands]) => commands);
  if (blocks.length === 0) throw new Error(`docs/${page} shows no command below "${heading}"`);
  return blocks.join("\n");
}

/** Runs such commands as a reader would: as administrator of a lab, from the top of this repository. Throws at the first failure. */
export async function follow(lab: Lab, commands: string): Promise<string> {
  const { PATH = "", ...env } = lab.environment;
  const path = `${dirname(await helmProgram())}:${PATH}`;
  return must(["bash", "-euo", "pipefail", "-c", `cd "$REPOSITORY"\n${commands}`], {
    env: { ...env, PATH: path, REPOSITORY: root },
    timeoutMs: TIMEOUT_MS,
  });
}
