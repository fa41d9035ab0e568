// `npm run build:plugin`: builds the kubectl plugin as executables with their own Node.js, for Linux on both processors, each in an archive.
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import cfg from "../package.json";
import { nodeRelease } from "../test/lab/images";
import { printer } from "../test/lab/progress";
import { bundleCli, CLI_FOLDER, NOTICES, PROGRAM } from "./bundle-cli";

const root = join(__dirname, "..");
const folder = join(root, "dist", "plugin");
const EXECUTABLE = "kubectl-resilience";
const blob = join(folder, "sea.blob");

/** Processors, as Go and krew name them and as Node.js does. */
const PROCESSORS = { amd64: "x64", arm64: "arm64" } as const;

/** Marks the place in Node's executable where the program goes (doc/api/single-executable-applications.md of Node). */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed (exit ${status}): ${stderr.trim()}`);
  return stdout.trim();
}

/** Writes the program in the form that Node.js looks for. Compiled code and snapshots would be of one processor only. */
function writeBlob(node: string): void {
  const config = join(folder, "sea.json");
  const options = { disableExperimentalSEAWarning: true, useCodeCache: false, useSnapshot: false };
  writeFileSync(config, JSON.stringify({ main: join(CLI_FOLDER, PROGRAM), output: blob, ...options }));
  run(node, ["--experimental-sea-config", config]);
  rmSync(config);
}

/** Returns the path of the executable; its folder and the archive of that also have the licenses. */
function executable(node: string, processor: string): string {
  const name = `${EXECUTABLE}-${cfg.version}-linux-${processor}`;
  const into = join(folder, name);
  mkdirSync(into);
  copyFileSync(node, join(into, EXECUTABLE));
  const inject = [join(into, EXECUTABLE), "NODE_SEA_BLOB", blob, "--sentinel-fuse", FUSE];
  run(join(root, "node_modules", ".bin", "postject"), inject);
  for (const file of ["LICENSE", NOTICES]) copyFileSync(join(CLI_FOLDER, file), join(into, file));
  copyFileSync(join(dirname(node), "..", "LICENSE"), join(into, "LICENSE-nodejs"));
  const same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
  run("tar", [...same, "--create", "--gzip", "--file", `${name}.tar.gz`, "--directory", into, "."]);
  return join(into, EXECUTABLE);
}

/** @throws Error on another platform, or if a step fails */
async function main(): Promise<void> {
  if (process.platform !== "linux") throw new Error(`expected linux, got ${process.platform}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await bundleCli();
  const progress = printer(process.stderr);
  writeBlob(await nodeRelease(progress));
  for (const [processor, arch] of Object.entries(PROCESSORS)) {
    const path = executable(await nodeRelease(progress, arch), processor);
    const version = arch === process.arch ? run(path, ["--version"]) : `${cfg.version}, not run here,`;
    const megabytes = (statSync(path).size / 1e6).toFixed(0);
    console.log(`Built ${EXECUTABLE} ${version} for linux/${processor} (${megabytes} MB) in dist/plugin/.`);
  }
  rmSync(blob);
}

void main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
