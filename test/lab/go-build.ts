import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { must, run, startBound } from "./commands";
import { cacheFolder } from "./folders";
import { takeLock } from "./lock";
import { MARKER } from "./processes";
import type { Progress } from "./progress";

/** A Go program with sources in this repository, or from a Go module. */
export interface GoProgram {
  /** The name of the built file. */
  name: string;
  version: string;
  /** The folder with go.mod and go.sum, and with the sources if they are ours. */
  sources: string;
  /** A folder with another go.mod and go.sum to use instead. */
  modules?: string;
  /** The package to build, in the format of `go build`. */
  package: string;
  ldflags: string;
  /** Files of a Go module that are concatenated into one file beside the program. */
  keep?: { module: string; files: readonly string[]; as: string };
}

const BUILD_TIMEOUT_MS = 3_600_000;
const TELL_EVERY_MS = 1000;
const KEPT_MS = 7 * 24 * 3_600_000;

/** The path of a program, built or not. It contains a hash of the sources, but not of their location. */
export function builtPath(program: GoProgram): string {
  const recipe = { ...program, sources: "", modules: undefined };
  const hash = createHash("sha256").update(JSON.stringify([recipe, process.arch, process.platform]));
  for (const file of filesOf(program)) hash.update(readFileSync(file));
  return join(cacheFolder(), `${program.name}-${program.version}-${hash.digest("hex").slice(0, 12)}`, program.name);
}

/** All that a build is made of. */
function filesOf({ sources, modules }: GoProgram): string[] {
  const filesIn = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(({ name }) => join(folder, name))
      .sort();
  return [sources, ...(modules === undefined ? [] : [modules])].flatMap(filesIn);
}

/** Returns the path of a program; builds it if necessary. Two processes never build the same program at the same time. */
export async function built(program: GoProgram, labId: string, progress: Progress): Promise<string> {
  const path = builtPath(program);
  if (existsSync(path)) return path;
  if ((await run(["go", "version"])).code !== 0)
    throw new Error(
      `${program.name} ${program.version} must be built, but \`go\` was not found: install Go 1.26 or later`,
    );
  const lock = await takeLock({
    path: join(cacheFolder(), `${program.name}.lock`),
    timeoutMs: BUILD_TIMEOUT_MS,
    onWait: () => progress(`another process is building ${program.name}; waiting for it`),
  });
  try {
    if (!existsSync(path)) await build({ program, path, labId, progress });
  } finally {
    lock.release();
  }
  return path;
}

interface Build {
  program: GoProgram;
  path: string;
  labId: string;
  progress: Progress;
}

async function build({ program, path, labId, progress }: Build): Promise<void> {
  progress(`building ${program.name} ${program.version} from Go modules: several minutes, once`);
  const env = { ...process.env, CGO_ENABLED: "0", [MARKER]: labId };
  const unfinished = `${path}.unfinished`;
  mkdirSync(join(path, ".."), { recursive: true });
  const fetch = (said: number) => progress(`downloading Go modules: ${said} so far`, true);
  const packages = await go(["list", "-deps", program.package], { program, env, onTick: fetch });
  const compile = (said: number) =>
    progress(`compiling ${program.name}: ${said} packages of at most ${packages.length}`, true);
  const argv = ["build", "-v", "-trimpath", "-ldflags", program.ldflags, "-o", unfinished, program.package];
  await go(argv, { program, env, onTick: compile });
  chmodSync(unfinished, 0o755);
  if (program.keep !== undefined) await keepFiles(program.sources, program.keep, join(path, ".."));
  renameSync(unfinished, path);
  removeOlder(program, path);
  progress(`built ${program.name} ${program.version}`);
}

async function keepFiles(sources: string, keep: NonNullable<GoProgram["keep"]>, folder: string): Promise<void> {
  const module = (await must(["go", "-C", sources, "list", "-m", "-f", "{{.Dir}}", keep.module])).trim();
  const texts = keep.files.map(file => readFileSync(join(module, file), "utf8"));
  writeFileSync(join(folder, keep.as), texts.join("\n---\n"));
}

interface GoRun {
  program: GoProgram;
  env: NodeJS.ProcessEnv;
  /** Called every second with the number of output lines so far: modules, or packages. */
  onTick: (said: number) => void;
}

/** Runs `go` and returns its output lines; the kernel kills it when this process exits. */
async function go(args: string[], { program, env, onTick }: GoRun): Promise<string[]> {
  const [verb = "", ...rest] = args;
  const modules = program.modules === undefined ? [] : [`-modfile=${join(program.modules, "go.mod")}`];
  const argv = ["go", "-C", program.sources, verb, ...modules, ...rest];
  const child = startBound(argv, { env, stdio: ["ignore", "pipe", "pipe"] }, "TERM");
  const said: string[] = [];
  const printed: string[] = [];
  createInterface({ input: child.stderr! }).on("line", line => said.push(line));
  createInterface({ input: child.stdout! }).on("line", line => printed.push(line));
  const ticking = setInterval(() => onTick(said.length), TELL_EVERY_MS);
  const limit = setTimeout(() => child.kill("SIGTERM"), BUILD_TIMEOUT_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  }).finally(() => {
    clearInterval(ticking);
    clearTimeout(limit);
  });
  if (code === 0) return printed;
  throw new Error(`\`go ${args.join(" ")}\` in ${program.sources} failed:\n${said.slice(-20).join("\n")}`);
}

/** Programs of other sources; recent ones may belong to another checkout, or to a running lab. */
function removeOlder(program: GoProgram, path: string): void {
  for (const folder of readdirSync(cacheFolder())) {
    const other = join(cacheFolder(), folder);
    const ours = folder.startsWith(`${program.name}-${program.version}-`) && other !== join(path, "..");
    if (ours && Date.now() - statSync(other).mtimeMs > KEPT_MS) {
      rmSync(other, { recursive: true, force: true });
    }
  }
}
