// `npm run release:prepare -- VERSION`: gives the next release its version in package.json, CHANGELOG.md and wherever else it is named.
// Keeps the definitions of a release for the tests of later ones. It commits nothing.
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import cfg from "../../package.json";
import { released } from "./changelog";
import { checkVersion, isCandidate, NAMED_IN, withVersion } from "./version";

const root = join(__dirname, "..", "..");

function must(name: string, ...args: string[]): void {
  const { status } = spawnSync(name, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (status !== 0) throw new Error(`${name} ${args.join(" ")} ended with ${status}`);
}

function rewrite(path: string, change: (text: string) => string): void {
  writeFileSync(join(root, path), change(readFileSync(join(root, path), "utf8")));
}

function main(version = ""): void {
  checkVersion(version);
  // The lines of a release candidate are those of the release that follows it.
  if (!isCandidate(version)) {
    rewrite("CHANGELOG.md", text => released(text, version, new Date().toISOString().slice(0, 10)));
    cpSync(join(root, "crds"), join(root, "test/fixtures/releases", version), { recursive: true });
  }
  if (version !== cfg.version) must("npm", "version", version, "--no-git-tag-version");
  for (const path of Object.keys(NAMED_IN))
    rewrite(path, text => withVersion(path, text, { from: cfg.version, to: version }));
  must("npm", "run", "generate");
  console.log(
    `Version ${version} is in the files. Read the diff, commit it, and tag the commit v${version} once it is on main.`,
  );
}

try {
  main(process.argv[2]);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
