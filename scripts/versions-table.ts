import { readFileSync } from "node:fs";
import { join } from "node:path";
import { RESULTS_FILE, type VersionResults, versionsTable } from "../test/versions/results";

const PAGES = ["docs/install.md"];
const BEGIN = "<!-- versions: generated from test/versions/results.json -->\n";
const END = "<!-- end of versions -->";

interface Page {
  readonly path: string;
  readonly from: string;
  readonly text: () => Promise<string>;
}

/** The pages with the table of what works on which version of Kubernetes, as `npm run test:versions` last saw it. */
export function versionsPages(root: string): Page[] {
  const results = (): VersionResults => JSON.parse(readFileSync(join(root, RESULTS_FILE), "utf8")) as VersionResults;
  const text = async (path: string): Promise<string> => {
    const [head, rest] = readFileSync(join(root, path), "utf8").split(BEGIN);
    const [, tail] = rest?.split(END) ?? [];
    if (head === undefined || tail === undefined)
      throw new Error(`expected the comments "versions" and "end of versions" in ${path}`);
    return `${head}${BEGIN}\n${await versionsTable(results())}\n${END}${tail}`;
  };
  return PAGES.map(path => ({ path, from: RESULTS_FILE, text: () => text(path) }));
}
