// `npm run build:plugin`: builds the kubectl plugin as one executable with its own Node, for the platform of this machine.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleCli, CLI_FOLDER, PROGRAM } from "./bundle-cli";

const root = join(__dirname, "..");
const folder = join(root, "dist", "plugin");
const executable = join(folder, "kubectl-resilience");

/** Marks the place in Node's executable where the program goes (doc/api/single-executable-applications.md of Node). */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed (exit ${status}): ${stderr.trim()}`);
  return stdout.trim();
}

/** @throws Error on another platform, or if a step fails */
async function main(): Promise<void> {
  if (process.platform !== "linux")
    throw new Error(
      `expected linux, got ${process.platform}: its executables must be signed, which this script does not`,
    );
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await bundleCli();
  const config = join(folder, "sea.json");
  const blob = join(folder, "sea.blob");
  const options = { disableExperimentalSEAWarning: true, useCodeCache: true };
  writeFileSync(config, JSON.stringify({ main: join(CLI_FOLDER, PROGRAM), output: blob, ...options }));
  run(process.execPath, ["--experimental-sea-config", config]);
  copyFileSync(process.execPath, executable);
  run(join(root, "node_modules", ".bin", "postject"), [executable, "NODE_SEA_BLOB", blob, "--sentinel-fuse", FUSE]);
  for (const file of [config, blob]) rmSync(file);
  const version = run(executable, ["--version"]);
  console.log(`Built dist/plugin/kubectl-resilience ${version} (${(statSync(executable).size / 1e6).toFixed(0)} MB).`);
}

void main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
