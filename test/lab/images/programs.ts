import { realpathSync } from "node:fs";
import { build } from "esbuild";
import { must, run } from "../commands";
import { PAUSE_IMAGE } from "../components";
import { built, type GoProgram } from "../go-build";
import { controlPlane } from "../kubernetes";
import { type Progress, silent } from "../progress";
import { buildImage, type Entry, type Image } from "./image";

/** The commands that pods under test may call; busybox contains all of them. */
const APPLETS = "sh sleep cat echo wget date ls true false env nc tail head id".split(" ");

/** busybox and links to it: a shell for pods, and an idle process for their sandboxes. */
async function busyboxEntries(): Promise<Entry[]> {
  const found = await run(["sh", "-c", "command -v busybox"]);
  if (found.code !== 0) throw new Error("no busybox on PATH; on Debian and Ubuntu: apt-get install busybox-static");
  const copy = realpathSync(found.stdout.trim());
  if ((await run(["ldd", copy])).code === 0) {
    throw new Error(`${copy} needs shared libraries, but must be static: apt-get install busybox-static`);
  }
  return [{ path: "bin/busybox", copy }, ...APPLETS.map(name => ({ path: `bin/${name}`, link: "busybox" }))];
}

/** The image of every pod's sandbox, also usable as a small image with a shell. */
export async function pauseImage(): Promise<Image> {
  // Process 1 has no default signal handlers: without a trap it would ignore SIGTERM.
  const wait = "trap 'exit 0' TERM INT; while :; do sleep 86400 & wait $!; done";
  return buildImage({ reference: PAUSE_IMAGE, entries: await busyboxEntries(), command: ["sh", "-c", wait] });
}

/** Builds an image with one Go program, which is built if necessary, and a shell. */
export async function goImage(program: GoProgram, progress: Progress = silent): Promise<Image> {
  const copy = await built(program, "", progress);
  return buildImage({
    reference: `lab.local/${program.name}:${program.version}`,
    entries: [{ path: `usr/local/bin/${program.name}`, copy }, ...(await busyboxEntries())],
    command: [program.name],
  });
}

/** A real kube-scheduler as an image: a controller to protect, or to break. With a kube-controller-manager, too. */
export async function schedulerImage(progress: Progress = silent): Promise<Image> {
  const program = controlPlane();
  return buildImage({
    reference: `lab.local/kube-scheduler:${program.version}`,
    entries: [
      // One file has all programs.
      { path: "usr/local/bin/kube-scheduler", copy: await built(program, "", progress) },
      { path: "usr/local/bin/kube-controller-manager", link: "kube-scheduler" },
      ...(await busyboxEntries()),
    ],
    command: ["kube-scheduler"],
  });
}

export interface NodeImageSource {
  /** The image's name and tag, such as "lab.local/node-controller:1". */
  reference: string;
  /** The program and its files. */
  entries: readonly Entry[];
  /** Arguments of `node`. */
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

/** Builds an image with the running Node.js, its shared libraries, and a shell. */
export async function nodeImage({ reference, entries, args, env = {} }: NodeImageSource): Promise<Image> {
  const node: Entry[] = [
    { path: "usr/local/bin/node", copy: process.execPath },
    ...(await libraryEntries(process.execPath)),
    { path: "etc/passwd", content: "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n" },
  ];
  const all = [...node, ...(await busyboxEntries()), ...entries];
  return buildImage({ reference, entries: all, command: ["node", ...args], env });
}

/** The shared libraries of a program on this machine. */
export async function libraryEntries(program: string): Promise<Entry[]> {
  return parseLdd(await must(["ldd", program])).map(path => ({ path, copy: path }));
}

/** Bundles a TypeScript or JavaScript program with all its imports into one file for Node.js. */
export async function bundle(entryPoint: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    format: "cjs",
    logLevel: "silent",
  });
  return outputFiles[0]?.text ?? "";
}

/** The files in the output of `ldd`; the kernel's own library (linux-vdso) has none. */
export function parseLdd(output: string): string[] {
  const paths = output.split("\n").map(line => /(?:=> |^\s*)(\/\S+) \(0x/.exec(line)?.[1]);
  return paths.filter(path => path !== undefined);
}
