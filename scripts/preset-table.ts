import { readFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { type Preset, PRESETS } from "../src/engine/cluster-wide/presets/data";

const PAGE = "docs/cluster-wide.md";
const SECTION = /(<!-- BEGIN presets[^>]*-->\n)[^]*?(<!-- END presets -->)/;

/** The page about ClusterControllerResiliences, with the table of presets between the two comments. */
export function presetPage(root: string): { path: string; from: string; text: () => Promise<string> } {
  const text = async (): Promise<string> => {
    const page = readFileSync(join(root, PAGE), "utf8");
    if (!SECTION.test(page)) throw new Error(`expected the comments "BEGIN presets" and "END presets" in ${PAGE}`);
    const table = await format(
      ["| preset | recognized by | change | why |", "| --- | --- | --- | --- |", ...PRESETS.map(row)].join("\n"),
      { parser: "markdown" },
    );
    return page.replace(SECTION, (_, begin: string, end: string) => `${begin}\n${table}\n${end}`);
  };
  return { path: PAGE, from: "src/engine/cluster-wide/presets/data.ts", text };
}

function row({ name, images, labels, changes, why }: Preset): string {
  const signs = [...images, ...labels.map(([key, value]) => `${key}=${value}`)].map(sign => `\`${sign}\``);
  const change = [
    ...(changes.evidence ? [`\`tokenRestart.evidence: [${changes.evidence.join(", ")}]\``] : []),
    ...(changes.onRunaway ? [`\`flowIsolation.requestRate.onRunaway: ${changes.onRunaway}\``] : []),
  ];
  return `| ${name} | ${signs.join(", ")} | ${change.join(", ")} | ${why} |`;
}
