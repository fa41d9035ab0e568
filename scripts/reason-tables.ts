import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import type { Reasons } from "../src/core/remedy";
import { createRemedies } from "../src/remedies/registry";

const BEGIN = /<!-- reasons: [^>]*-->\n/;
const END = "<!-- end of reasons -->";

/** The page of each remedy, with the list of its reasons between the two comments. */
export function remedyPages(root: string): { path: string; from: string; text: () => Promise<string> }[] {
  return createRemedies().map(({ name, reasons }) => {
    const path = `docs/remedies/${name}.md`;
    const text = (): Promise<string> => withList(readFileSync(join(root, path), "utf8"), reasons, path);
    return { path, from: `src/remedies/${name}/reasons.ts`, text };
  });
}

async function withList(page: string, reasons: Reasons, path: string): Promise<string> {
  const begin = BEGIN.exec(page);
  const end = page.indexOf(END);
  if (begin === null || end < 0) throw new Error(`expected the comments "reasons" and "end of reasons" in ${path}`);
  const head = page.slice(0, begin.index + begin[0].length);
  return `${head}\n${await list(reasons)}\n${page.slice(end)}`;
}

/** Type of the Event of a reason, as the list has it. It says nothing about the state of the controller. */
const KINDS = { Warning: "", Normal: " (Normal Event)", None: " (no Event)" } as const;

/** Events are Warnings unless the entry says otherwise. */
function list(reasons: Reasons): Promise<string> {
  const rows = Object.entries(reasons).map(([reason, { event, help }]) => `- \`${reason}\`${KINDS[event]}: ${help}`);
  return format(rows.join("\n"), { parser: "markdown", proseWrap: "always", printWidth: 100 });
}
