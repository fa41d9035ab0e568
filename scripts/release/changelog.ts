// The part of CHANGELOG.md about one version.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import cfg from "../../package.json";

/** The lines below the heading of a version. @throws Error if there are none */
export function sectionOf(changelog: string, version: string): string {
  const [, ...parts] = changelog.split(/^## (?=\[)/m);
  const part = parts.find(text => text.startsWith(`[${version}]`));
  const lines = part?.slice(part.indexOf("\n") + 1).trim() ?? "";
  if (lines !== "") return lines;
  throw new Error(`expected lines below a heading "## [${version}] - DATE" in CHANGELOG.md, found none`);
}

/** Gives the lines below [Unreleased] to a version. @throws Error if there are none, or the version has some already */
export function released(changelog: string, version: string, date: string): string {
  sectionOf(changelog, "Unreleased");
  if (changelog.includes(`## [${version}]`)) throw new Error(`CHANGELOG.md has version ${version} already`);
  return changelog.replace(/^## \[Unreleased\]$/m, `## [Unreleased]\n\n## [${version}] - ${date}`);
}

/** `npm run release:notes`: what has changed in the version of package.json. */
function main(): void {
  try {
    console.log(sectionOf(readFileSync(join(__dirname, "..", "..", "CHANGELOG.md"), "utf8"), cfg.version));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}

if (require.main === module) main();
