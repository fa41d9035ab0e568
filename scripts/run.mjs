// Runs a TypeScript file of this project: node scripts/run.mjs <file> [arguments]
// On a fresh clone it first installs the locked dependencies, so that `npm run demo` and `npm test` just work.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Found Node ${process.versions.node}, expected 20.19 or newer.`);
  process.exit(1);
}

/** Reports whether node_modules matches the lock file; npm keeps a copy of the lock file there. */
function installed() {
  try {
    const wanted = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
    const found = JSON.parse(readFileSync(join(root, "node_modules", ".package-lock.json"), "utf8")).packages;
    return Object.entries(wanted).every(
      ([path, entry]) => path === "" || entry.optional || found[path]?.version === entry.version,
    );
  } catch {
    return false;
  }
}

if (!installed()) {
  console.error("Installing the locked dependencies (npm ci) ...");
  // The program that runs owns standard output.
  const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root, stdio: ["ignore", 2, 2] });
  if (npm.status !== 0) {
    console.error(`npm ci failed (exit ${npm.status ?? npm.signal}); see its output above.`);
    process.exit(1);
  }
}

// npm's shell passes no signal on, so this process ends once its parent has ended.
const parent = process.ppid;
const isByNpm = process.env.npm_lifecycle_event !== undefined;
if (isByNpm) setInterval(() => process.ppid === parent || process.kill(process.pid, "SIGTERM"), 1_000).unref();

const [, , file, ...rest] = process.argv;
const script = resolve(root, file);
process.argv = [process.argv[0], script, ...rest];
await import("tsx");
await import(pathToFileURL(script).href);
