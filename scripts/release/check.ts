// `npm run release:check -- --tag TAG`: refuses a tag before anything of it is published. Prints outputs for the workflow.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import cfg from "../../package.json";
import { notesOf } from "./changelog";
import { checkVersion, isCandidate } from "./version";

/**
 * Returns what the workflow needs to know, as lines `name=value`.
 *
 * @throws Error if the tag is not that of the version, or the version has no lines in the changelog
 */
export function checkRelease(tag: string, version: string, changelog: string): string {
  checkVersion(version);
  if (tag !== `v${version}`) throw new Error(`expected the tag v${version}, as in package.json, got "${tag}"`);
  notesOf(changelog, version);
  return `version=${version}\nprerelease=${isCandidate(version)}`;
}

function main(): void {
  const program = new Command("release:check")
    .requiredOption("--tag <tag>", "v and the version in package.json")
    .parse();
  try {
    const changelog = readFileSync(join(__dirname, "..", "..", "CHANGELOG.md"), "utf8");
    console.log(checkRelease(program.opts<{ tag: string }>().tag, cfg.version, changelog));
  } catch (error) {
    program.error((error as Error).message);
  }
}

if (process.argv[1] === __filename) main();
