import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { must } from "../lab/commands";
import {
  buildImage,
  type DockerfileStage,
  type Entry,
  folderEntries,
  type Image,
  lastStage,
  libraryEntries,
  nodeRelease,
} from "../lab/images";
import { type Progress, silent } from "../lab/progress";

const root = join(__dirname, "..", "..");

/** What the image runs, once it is built. */
export const OPERATOR_PROGRAM = join(root, "dist", "image", "operator.js");

/** The name of the operator's image on a lab's node. */
export const OPERATOR_IMAGE = "controller-resilience:lab";

/** Path of this repository in the Dockerfile's first stage. */
const BUILD_FOLDER = "/build/";

/** Paths of Node.js in its own image, and in the lab's release of it. */
const NODE_FILES: Readonly<Record<string, string>> = {
  "/usr/local/bin/node": "bin/node",
  "/usr/local/LICENSE": "LICENSE",
};

/** The sources of the operator: if one is newer than the build, the operator is built again. */
const SOURCES = ["pepr.ts", "capabilities", "src", "scripts", "package.json", "package-lock.json"];

/** A minute or two, and many times that on a busy machine. */
const BUILD_TIMEOUT_MS = 1_800_000;

const TELL_EVERY_MS = 10_000;

/** The last stage of the operator's Dockerfile. */
export function operatorStage(): DockerfileStage {
  return lastStage(readFileSync(join(root, "deploy", "image", "Dockerfile"), "utf8"));
}

/** Options that the image passes to Node.js. */
export function operatorNodeOptions(): readonly string[] {
  return operatorStage().entrypoint.slice(1, -1);
}

/**
 * Builds the image as its Dockerfile describes, but without Docker: builds the operator if the sources are newer, and uses the Node.js that the
 * Dockerfile names. Instead of the Dockerfile's base image it uses the shared libraries of this machine that Node.js needs.
 *
 * @param bundle another operator than the one that was built
 */
export async function operatorImage(progress: Progress = silent, bundle?: string): Promise<Image> {
  const { copies, env, user, workingDir, entrypoint } = operatorStage();
  await ensureBuilt(progress);
  const node = await nodeRelease(progress);
  const entries = [
    ...copies.flatMap(copied => entriesOf(copied, node)).map(entry => replaced(entry, bundle)),
    ...(await libraryEntries(node)),
    {
      path: "etc/passwd",
      content: "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532::/home/nonroot:/sbin/nologin\n",
    },
  ];
  return buildImage({ reference: OPERATOR_IMAGE, entries, entrypoint, command: [], user, env, workingDir });
}

/** Builds the contents of the image, dist/image, if the sources are newer. */
export async function ensureBuilt(progress: Progress = silent): Promise<void> {
  if (!isBuilt()) await build(progress);
}

/** `pepr build` prints nothing while it works, so this prints progress. */
async function build(progress: Progress): Promise<void> {
  const startedMs = Date.now();
  progress("building the operator, which takes a minute or two");
  const telling = setInterval(() => {
    progress(`building the operator, for ${Math.round((Date.now() - startedMs) / 1000)} s so far`, true);
  }, TELL_EVERY_MS);
  try {
    await must(["npm", "run", "--silent", "--prefix", root, "build"], { timeoutMs: BUILD_TIMEOUT_MS });
  } finally {
    clearInterval(telling);
  }
}

function replaced(entry: Entry, bundle: string | undefined): Entry {
  const { path } = entry;
  return bundle === undefined || !path.endsWith("/operator.js") ? entry : { path, copy: bundle };
}

/** The path on this machine of a COPY in the Dockerfile. */
function entriesOf({ from, to }: DockerfileStage["copies"][number], node: string): Entry[] {
  const part = NODE_FILES[from];
  if (part !== undefined) return [{ path: to, copy: join(dirname(node), "..", part) }];
  if (!from.startsWith(BUILD_FOLDER))
    throw new Error(`the Dockerfile copies ${from}, which has no counterpart on this machine`);
  return folderEntries(join(root, from.slice(BUILD_FOLDER.length)), to.replace(/\/$/, ""));
}

/** Reports whether the contents of the image are newer than the sources. */
export function isBuilt(): boolean {
  const built = statSync(OPERATOR_PROGRAM, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return SOURCES.every(path => newestIn(join(root, path)) <= built);
}

function newestIn(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  const names = readdirSync(path).filter(name => !name.endsWith(".test.ts"));
  return Math.max(stat.mtimeMs, ...names.map(name => newestIn(join(path, name))));
}
