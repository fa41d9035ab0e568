import { build } from "esbuild";
import { must } from "../commands";
import { buildImage, type Entry, type Image } from "./image";
import { busyboxEntries } from "./pause";

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
