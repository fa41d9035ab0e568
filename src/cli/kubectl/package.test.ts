import { execFileSync, spawnSync, type SpawnSyncOptionsWithStringEncoding } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundleCli } from "../../../scripts/bundle-cli";

const folder = mkdtempSync(join(tmpdir(), "kubectl-resilience-package-"));
const npm: SpawnSyncOptionsWithStringEncoding = {
  cwd: folder,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
  // npx keeps what it installs here.
  env: { ...process.env, npm_config_cache: join(folder, "cache") },
};
let archive: { filename: string; files: { path: string }[] };
beforeAll(async () => {
  await bundleCli(join(folder, "package"));
  const packed = execFileSync("npm", ["pack", "--json", "./package"], npm);
  [archive] = JSON.parse(packed) as [typeof archive];
});
afterAll(() => rmSync(folder, { recursive: true }));

it("has the program, the licenses and nothing else", () => {
  const files = ["LICENSE", "kubectl-resilience.js", "kubectl-resilience.js.LEGAL.txt", "package.json"];
  expect(archive.files.map(({ path }) => path)).toEqual(files);
});

it("runs with npx, without any other package and without the repository", () => {
  const args = ["--yes", "--offline", `./${archive.filename}`, "replay", "--spec", "-"];
  const { status, stderr } = spawnSync("npx", args, { ...npm, stdio: ["ignore", "pipe", "pipe"] });
  expect(stderr).toContain("failed to read -");
  expect(status).toBe(1);
  const help = execFileSync("npx", ["--yes", "--offline", `./${archive.filename}`, "--help"], npm);
  expect(help).toContain("kubectl resilience");
});

it("ends without a stack trace when its reader closes the pipe", () => {
  const script = `i=0; while [ $i -lt 20000 ]; do echo "x: Unauthorized"; i=$((i+1)); done | package/kubectl-resilience.js classify 2>err | head -1; cat err`;
  const { stdout } = spawnSync("bash", ["-c", `${script}; echo "\${PIPESTATUS[*]}"`], npm);
  expect(stdout).toContain("unauthorized  x: Unauthorized");
  expect(stdout).not.toMatch(/ at |Error/);
});
