import { WELL_KNOWN } from "../src/evidence/progress/well-known";

const PATH = "deploy/chart/files/known-kinds.yaml";

/** The groups of the kinds that are clear without an apiVersion: the admission policies ask whether the author may list them. */
export function knownKinds(): { path: string; from: string; text: () => Promise<string> } {
  const from = "src/evidence/progress/well-known.ts";
  const clear = WELL_KNOWN.filter(({ kind }) => WELL_KNOWN.filter(row => row.kind === kind).length === 1);
  const lines = clear.map(({ kind, apiVersion }) => `${kind}: ${apiVersion.split("/")[0]}\n`);
  const head = `# Made from ${from} by "npm run generate". Do not edit.\n`;
  return { path: PATH, from, text: () => Promise.resolve(`${head}${lines.join("")}`) };
}
