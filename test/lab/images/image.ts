import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Headers, pack, type Pack } from "tar-stream";
import { cacheFolder } from "../folders";

/** An entry of an image; parent folders are created automatically. */
export type Entry =
  | { path: string; content: string | Buffer; mode?: number }
  | { path: string; /** A file of this machine. */ copy: string; mode?: number }
  | { path: string; link: string };

/** A container image of one layer. */
export interface ImageSource {
  /** Name and tag of the image, such as "lab.local/pause:1". */
  reference: string;
  entries: readonly Entry[];
  /** The program that always runs; `command` is its arguments then. */
  entrypoint?: readonly string[];
  command: readonly string[];
  /** User and group ids, such as `65532:65532`; root by default. */
  user?: string;
  env?: Readonly<Record<string, string>>;
  workingDir?: string;
}

/** An image as a tar that `ctr images import` takes. */
export interface Image {
  reference: string;
  tar: string;
}

const ARCHITECTURES: Partial<Record<string, string>> = { x64: "amd64", arm64: "arm64" };
const UNUSED_AFTER_MS = 24 * 3_600_000;
const SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Writes an image in the format of `docker save`: manifest.json, a configuration and one layer. The same source
 * gives the same bytes, and an existing image is taken from the cache.
 */
export async function buildImage(source: ImageSource): Promise<Image> {
  const images = join(cacheFolder(), "images");
  const tar = join(images, `${nameOf(source)}-${await fingerprint(source)}.tar`);
  mkdirSync(images, { recursive: true });
  if (existsSync(tar)) {
    utimesSync(tar, new Date(), new Date());
    return { reference: source.reference, tar };
  }
  const layer = `${tar}.${process.pid}.layer`;
  const unfinished = `${tar}.${process.pid}.unfinished`;
  try {
    await writeTar(layer, withFolders(source.entries));
    await writeTar(unfinished, await archive(source, layer));
    renameSync(unfinished, tar);
    removeUnused(images, `${nameOf(source)}-`);
  } finally {
    rmSync(layer, { force: true });
    rmSync(unfinished, { force: true });
  }
  return { reference: source.reference, tar };
}

function nameOf({ reference }: ImageSource): string {
  return reference.replace(/[^a-z0-9.-]+/gi, "_");
}

/** Deletes earlier contents of an image that have not been used for a while. */
function removeUnused(images: string, prefix: string): void {
  for (const name of readdirSync(images).filter(file => file.startsWith(prefix))) {
    const path = join(images, name);
    const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - changed > UNUSED_AFTER_MS) rmSync(path, { force: true });
  }
}

/** Entries for all files in a folder of this machine, ordered by name. */
export function folderEntries(folder: string, path: string, wanted: (path: string) => boolean = () => true): Entry[] {
  const names = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return names.flatMap(item => {
    const from = join(folder, item.name);
    const to = `${path}/${item.name}`;
    if (!wanted(to)) return [];
    if (item.isDirectory()) return folderEntries(from, to, wanted);
    if (item.isSymbolicLink()) return [{ path: to, link: readlinkSync(from) }];
    return item.isFile() ? [{ path: to, copy: from }] : [];
  });
}

/** The configuration of an image, as the OCI image specification has it. */
export function configuration(source: ImageSource, layerDigest: string): object {
  const env = { PATH: SEARCH_PATH, ...source.env };
  return {
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: "linux",
    config: {
      ...(source.entrypoint === undefined ? {} : { Entrypoint: source.entrypoint }),
      ...(source.user === undefined ? {} : { User: source.user }),
      Cmd: source.command,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      WorkingDir: source.workingDir ?? "/",
    },
    rootfs: { type: "layers", diff_ids: [`sha256:${layerDigest}`] },
  };
}

async function archive(source: ImageSource, layer: string): Promise<Entry[]> {
  const config = JSON.stringify(configuration(source, await digestOf(layer)));
  const name = `${createHash("sha256").update(config).digest("hex")}.json`;
  const manifest = [{ Config: name, RepoTags: [source.reference], Layers: ["layer.tar"] }];
  return [
    { path: "manifest.json", content: JSON.stringify(manifest) },
    { path: name, content: config },
    { path: "layer.tar", copy: layer },
  ];
}

/** Hashes the content of the sources, independent of their location. */
async function fingerprint(source: ImageSource): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify({ ...source, entries: [] }));
  for (const entry of source.entries) {
    hash.update(JSON.stringify({ ...entry, content: undefined, copy: undefined }));
    if ("content" in entry) hash.update(createHash("sha256").update(entry.content).digest());
    if ("copy" in entry) hash.update(`${modeOf(entry)} ${await digestOf(entry.copy)}`);
  }
  return hash.digest("hex").slice(0, 16);
}

function modeOf(entry: { copy: string; mode?: number }): number {
  return entry.mode ?? statSync(entry.copy).mode & 0o777;
}

interface Folder {
  path: string;
  folder: true;
}

function withFolders(entries: readonly Entry[]): (Entry | Folder)[] {
  const folders = new Set<string>();
  for (const { path } of entries) {
    const parts = path.split("/").filter(part => part !== "");
    for (let depth = 1; depth < parts.length; depth += 1) folders.add(parts.slice(0, depth).join("/"));
  }
  // Programs write to /tmp, and pods that mount a tmpfs there need the folder.
  folders.add("tmp");
  return [...[...folders].sort().map(path => ({ path, folder: true as const })), ...entries];
}

async function writeTar(file: string, entries: readonly (Entry | Folder)[]): Promise<void> {
  const tar = pack();
  const written = pipeline(tar, createWriteStream(file));
  // A failure to read an entry must stop the writing, too.
  const fed = (async () => {
    for (const entry of entries) await add(tar, entry);
    tar.finalize();
  })().catch((error: unknown) => tar.destroy(error as Error));
  await Promise.all([written, fed]);
}

async function add(tar: Pack, entry: Entry | Folder): Promise<void> {
  const name = entry.path.replace(/^\/+/, "");
  const common = { name, mtime: new Date(0), uid: 0, gid: 0 };
  if ("folder" in entry) {
    tar.entry({ ...common, name: `${name}/`, type: "directory", mode: name === "tmp" ? 0o1777 : 0o755 });
  } else if ("link" in entry) {
    tar.entry({ ...common, type: "symlink", linkname: entry.link });
  } else if ("content" in entry) {
    tar.entry({ ...common, mode: entry.mode ?? 0o644 }, entry.content);
  } else {
    await copyInto(tar, { ...common, mode: modeOf(entry), size: statSync(entry.copy).size }, entry.copy);
  }
}

async function copyInto(tar: Pack, header: Headers, file: string): Promise<void> {
  await pipeline(createReadStream(file), tar.entry(header));
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
