// `npm run release:check`: refuses a tag before anything of it is published, by default that of the version. Prints outputs for the workflow.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import cfg from "../../package.json";
import { notesOf } from "./changelog";
import { checkVersion, isCandidate, NAMED_IN, withVersion } from "./version";

const WORKFLOW = ".github/workflows/release.yaml";
/** What the workflow does with a release, by words of its steps. */
const STEPS = [
  "docker/build-push-action@",
  "cosign sign ",
  "cosign sign-blob ",
  "actions/attest-build-provenance@",
  "helm push ",
  "gh release create ",
];

/**
 * Returns what the workflow needs to know, as lines `name=value`.
 *
 * @param read the text of a file of the repository
 * @throws Error if the tag is not that of the version, a file that names the version has another one, the version has no lines in the
 * changelog, or the workflow lacks a step
 */
export function checkRelease(tag: string, version: string, read: (path: string) => string): string {
  checkVersion(version);
  if (tag !== `v${version}`) throw new Error(`expected the tag v${version}, as in package.json, got "${tag}"`);
  for (const path of Object.keys(NAMED_IN)) withVersion(path, read(path), { from: version, to: version });
  notesOf(read("CHANGELOG.md"), version);
  const workflow = read(WORKFLOW);
  for (const step of STEPS)
    if (!workflow.includes(step)) throw new Error(`expected "${step.trim()}" in ${WORKFLOW}, found none`);
  return `version=${version}\nprerelease=${isCandidate(version)}`;
}

/** The lines of the workflow with such a step, as `file:line command`. */
function stepsIn(workflow: string): string[] {
  const lines = workflow.split("\n").map((line, i) => `${WORKFLOW}:${i + 1} ${line.trim()}`);
  return lines.filter(line => STEPS.some(step => line.includes(step)));
}

function main(): void {
  const program = new Command("release:check")
    .option("--tag <tag>", "v and the version in package.json", `v${cfg.version}`)
    .parse();
  try {
    const read = (path: string): string => readFileSync(join(__dirname, "..", "..", path), "utf8");
    console.log(checkRelease(program.opts<{ tag: string }>().tag, cfg.version, read));
    console.error(`Only the workflow does this:\n${stepsIn(read(WORKFLOW)).join("\n")}`);
  } catch (error) {
    program.error((error as Error).message);
  }
}

if (process.argv[1] === __filename) main();
