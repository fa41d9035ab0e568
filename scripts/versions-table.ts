import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RESULTS_FILE, type VersionResults, versionsTable } from "../test/versions/results";

const PAGE = "docs/install.md";
const BEGIN = "<!-- versions: generated from test/versions/results.json -->\n";
const END = "<!-- end of versions -->";

/** The page with the table of what works on which version of Kubernetes, as `npm run test:versions` last saw it. */
export function versionsPage(root: string): { path: string; from: string; text: () => Promise<string> } {
  const text = async (): Promise<string> => {
    const page = readFileSync(join(root, PAGE), "utf8");
    const [head, rest] = page.split(BEGIN);
    const [, tail] = rest?.split(END) ?? [];
    if (head === undefined || tail === undefined)
      throw new Error(`expected the comments "versions" and "end of versions" in ${PAGE}`);
    const results = JSON.parse(readFileSync(join(root, RESULTS_FILE), "utf8")) as VersionResults;
    return `${head}${BEGIN}\n${await versionsTable(results)}\n${END}${tail}`;
  };
  return { path: PAGE, from: RESULTS_FILE, text };
}
