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

/** What has changed in a version. One without lines of its own, such as a release candidate, has what is unreleased. */
export function notesOf(changelog: string, version: string): string {
  return sectionOf(changelog, changelog.includes(`## [${version}]`) ? version : "Unreleased");
}

/** Gives the lines below [Unreleased] to a version. @throws Error if there are none, or the version has some already */
export function released(changelog: string, version: string, date: string): string {
  sectionOf(changelog, "Unreleased");
  if (changelog.includes(`## [${version}]`)) throw new Error(`CHANGELOG.md has version ${version} already`);
  return changelog.replace(/^## \[Unreleased\]$/m, `## [Unreleased]\n\n## [${version}] - ${date}`);
}

/** A change, as Artifact Hub shows it. */
export interface Change {
  /** added, changed, deprecated, removed, fixed or security */
  readonly kind: string;
  readonly description: string;
}

/** The items of a version, each with the kind of change and the part that its headings name. */
export function changesIn(section: string): Change[] {
  return headed(section, "### ").flatMap(({ title: kind, text }) =>
    headed(text, "#### ").flatMap(({ title: part, text: items }) =>
      [...items.matchAll(/^- (.*(?:\n {2}.*)*)/gm)].map(([, item = ""]) => ({
        kind: kind.toLowerCase(),
        description: plain(part === "" ? item : `${part}: ${item}`),
      })),
    ),
  );
}

/** The parts of a text below headings of one level; the first part has none. */
function headed(text: string, heading: string): { title: string; text: string }[] {
  const [before = "", ...parts] = text.split(new RegExp(`^${heading}`, "m"));
  const titled = parts.map(part => ({ title: part.split("\n", 1)[0]?.trim() ?? "", text: part }));
  return [{ title: "", text: before }, ...titled];
}

/** One line without links, which would lead nowhere on another site. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll(/ \(\[[^\]]*\]\([^)]*\)\)/g, "")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}

/** `npm run release:notes`: what has changed in the version of package.json. */
function main(): void {
  try {
    console.log(notesOf(readFileSync(join(__dirname, "..", "..", "CHANGELOG.md"), "utf8"), cfg.version));
  } catch (error) {
    console.error((error as Error).message);
    process.exitCode = 1;
  }
}

if (process.argv[1] === __filename) main();
