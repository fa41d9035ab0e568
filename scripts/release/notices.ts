import { type BundledPackage, key } from "./packages";

const RULE = "-".repeat(80);

/** Returns the notices that the licenses of bundled packages require: each package with the texts that it ships. */
export function notices(program: string, packages: readonly BundledPackage[]): string {
  const head = `${program} contains code of these npm packages. Each is under its own license.\n`;
  return [head, ...packages.map(section)].join(`\n${RULE}\n`);
}

function section(entry: BundledPackage): string {
  const { license, author, texts } = entry;
  const by = author === "" ? "" : `, by ${author}`;
  const found = texts.length > 0 ? texts.join("\n\n") : `The package ships no text of its license${by}.`;
  return `${key(entry)}: ${license}\n\n${found}\n`;
}
