import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import type { Reasons, Remedy } from "../src/core/remedy";
import { groupBy } from "../src/core/views";
import { createRemedies } from "../src/remedies/registry";

const BEGIN = /<!-- reasons: [^>]*-->\n/;
const END = "<!-- end of reasons -->";

/** The page of each remedy, with the list of its reasons between the two comments. */
export function remedyPages(root: string): { path: string; from: string; text: () => Promise<string> }[] {
  const remedies = createRemedies();
  return remedies.map(({ name, reasons }, index) => {
    const path = `docs/remedies/${name}.md`;
    const rows = list(reasons, remedies.slice(0, index));
    const text = (): Promise<string> => withList(readFileSync(join(root, path), "utf8"), rows, path);
    return { path, from: `src/remedies/${name}/reasons.ts`, text };
  });
}

async function withList(page: string, rows: readonly string[], path: string): Promise<string> {
  const begin = BEGIN.exec(page);
  const end = page.indexOf(END);
  if (begin === null || end < 0) throw new Error(`expected the comments "reasons" and "end of reasons" in ${path}`);
  const head = page.slice(0, begin.index + begin[0].length);
  const text = await format(rows.join("\n"), { parser: "markdown", proseWrap: "always", printWidth: 100 });
  return `${head}\n${text}\n${page.slice(end)}`;
}

/** Type of the Event of a reason, as the list has it. It says nothing about the state of the controller. */
const KINDS = { Warning: "", Normal: " (Normal Event)", None: " (no Event)" } as const;

/** Events are Warnings unless the entry says otherwise. What the page of an earlier remedy says is not repeated. */
function list(reasons: Reasons, earlier: readonly Pick<Remedy, "name" | "reasons">[]): string[] {
  const told = (reason: string): string | undefined =>
    earlier.find(remedy => remedy.reasons[reason] !== undefined && remedy.reasons[reason] === reasons[reason])?.name;
  const own = Object.entries(reasons).filter(([reason]) => told(reason) === undefined);
  const rows = own.map(([reason, { event, help }]) => `- \`${reason}\`${KINDS[event]}: ${help}`);
  const shared = groupBy(Object.keys(reasons), reason => told(reason) ?? "");
  const names = Array.from(shared).filter(([name]) => name !== "");
  return [...rows, ...names.map(([name, same]) => `- As of [${name}](${name}.md#reasons): \`${same.join("`, `")}\``)];
}
