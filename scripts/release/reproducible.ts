// `npm run check:reproducible`: builds the contents of the image and the plugin in two folders, and compares them byte by byte.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const root = join(__dirname, "..", "..");
const copy = join(root, ".lab", "reproducible");
const BUILT = ["dist/image", "dist/kubectl-resilience"];

function must(folder: string, name: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(name, args, { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`${name} ${args.join(" ")} ended with ${status}: ${stderr}${stdout}`);
  return stdout;
}

/** Copies the files of the work tree, also those that Git does not know yet, and hard links to the packages. */
function copyProject(): void {
  rmSync(copy, { recursive: true, force: true });
  const listed = must(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0");
  // A deleted file stays listed until the deletion is staged.
  for (const file of listed.filter(name => name !== "" && existsSync(join(root, name)))) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(root, file), join(copy, file));
  }
  must(root, "cp", "--archive", "--link", "node_modules", join(copy, "node_modules"));
}

/** A line per built file: its hash and its path. */
function build(folder: string): string[] {
  must(folder, "npm", "run", "build");
  return BUILT.flatMap(built => readdirSync(join(folder, built), { recursive: true, withFileTypes: true }))
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(file => `${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${relative(folder, file)}`)
    .sort();
}

function main(): void {
  copyProject();
  console.error("building twice: about a minute");
  const [here, there] = [build(root), build(copy)];
  rmSync(copy, { recursive: true });
  const different = [...here.filter(line => !there.includes(line)), ...there.filter(line => !here.includes(line))];
  if (different.length > 0) throw new Error(`expected equal files from two builds, got\n${different.join("\n")}`);
  console.log(here.join("\n"));
}

main();
