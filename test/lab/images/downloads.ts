import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { must, run } from "../commands";
import { cacheFolder } from "../folders";
import { takeLock } from "../lock";
import { type Progress, silent } from "../progress";
import { buildImage, type Entry, folderEntries, type Image } from "./image";

/** Longest time that a download may take. */
const DOWNLOAD_TIMEOUT_MS = 600_000;

/** Returns a folder of the cache that is made once for these inputs: by a script in an unfinished folder, by one process at a time. */
async function cachedFolder(
  name: string,
  inputs: readonly unknown[],
  make: (folder: string) => Promise<void>,
): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify([...inputs, process.arch]));
  const folder = join(cacheFolder(), `${name}-${hash.digest("hex").slice(0, 12)}`);
  const lock = await takeLock({ path: `${folder}.lock`, timeoutMs: DOWNLOAD_TIMEOUT_MS });
  try {
    if (!existsSync(folder)) {
      const unfinished = `${folder}.unfinished`;
      rmSync(unfinished, { recursive: true, force: true });
      mkdirSync(unfinished, { recursive: true });
      await make(unfinished);
      renameSync(unfinished, folder);
    }
  } finally {
    lock.release();
  }
  return folder;
}

/** Packages that a container does not need: the package system itself, dialogs, Perl, and time zones. */
const NOT_IN_IMAGES =
  /^(cdebconf|debconf|dpkg|gcc-\d+-base|install-info|lib(debian-installer|newt|perl|slang|textwrap|db5).*|mailcap|media-types|mime-support|openssl|perl.*|readline-common|tar|tzdata)$/;
const NOT_FOR_READING = /^\/usr\/share\/(doc|man|locale|lintian|info|bug|menu|pixmaps|applications)$/;

interface DebianFiles {
  packages: readonly string[];
  /** Shell commands that replace the package scripts, run inside the unpacked files. */
  finish?: string;
  progress: Progress;
}

/**
 * The files of Debian packages and their dependencies, unpacked but not installed on this machine.
 * Kept in the cache.
 */
async function debianEntries({ packages, finish = "", progress }: DebianFiles): Promise<Entry[]> {
  const root = await cachedFolder("debian", [packages, finish], folder =>
    unpack(folder, { packages, finish, progress }),
  );
  return folderEntries(root, "", path => !NOT_FOR_READING.test(path));
}

/** Returns the package names in the output of `apt-cache depends --recurse`, without those that an image does not need. */
export function parseClosure(output: string): string[] {
  const names = output.split("\n").filter(line => /^[a-z0-9]/.test(line));
  return [...new Set(names.map(name => name.trim()))].filter(name => !NOT_IN_IMAGES.test(name)).sort();
}

async function unpack(root: string, { packages, finish = "", progress }: DebianFiles): Promise<void> {
  progress(`downloading ${packages.join(", ")} and their dependencies from Debian`);
  const downloads = join(root, "downloads");
  mkdirSync(downloads, { recursive: true });
  const names = await closure(packages);
  const script = 'cd "$1" && shift && exec apt-get download --quiet=2 "$@"';
  await must(["sh", "-c", script, "sh", downloads, ...names], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
  for (const file of readdirSync(downloads)) await must(["dpkg-deb", "--extract", join(downloads, file), root]);
  rmSync(downloads, { recursive: true });
  if (finish !== "")
    await must(["chroot", root, "/bin/busybox", "sh", "-ec", finish], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
}

async function closure(packages: readonly string[]): Promise<string[]> {
  const without = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"].map(kind => `--no-${kind}`);
  const argv = ["apt-cache", "depends", "--recurse", ...without, ...packages];
  const first = await run(argv);
  if (first.code === 0) return parseClosure(first.stdout);
  if (first.code === 127) throw new Error("images with Python are built from Debian packages, which needs apt");
  // The list of packages may be empty, as in a fresh container.
  await must(["apt-get", "update"], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
  return parseClosure(await must(argv));
}

/** The oldest Java of the distributions whose packages an image is made of. */
const RELEASE = "17";

export interface JavaImageSource {
  /** The image's name and tag. */
  readonly reference: string;
  /** A folder with pom.xml, which names the libraries, and one class in one file. */
  readonly sources: string;
  readonly className: string;
  readonly progress?: Progress;
}

/** Builds an image with Debian's Java, a program and its libraries from Maven Central. Needs `mvn` and `javac`. */
export async function javaImage(source: JavaImageSource): Promise<Image> {
  const { reference, sources, className, progress = silent } = source;
  const files = ["pom.xml", `${className}.java`];
  const texts = files.map(file => readFileSync(join(sources, file), "utf8"));
  const program = await cachedFolder("java", texts, folder => compile(folder, sources, className));
  const java = await debianEntries({ packages: ["default-jre-headless", "busybox-static"], progress });
  return buildImage({
    reference,
    entries: [...java, ...folderEntries(program, "/app", path => !/pom\.xml|\.java$/.test(path))],
    command: javaCommand(className),
  });
}

/** The command of an image that {@link javaImage} builds. */
export function javaCommand(className: string): string[] {
  return [
    ...["/usr/lib/jvm/default-java/bin/java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", "/app:/app/lib/*"],
    className,
  ];
}

async function compile(folder: string, sources: string, className: string): Promise<void> {
  cpSync(sources, folder, { recursive: true });
  const copy = ["dependency:copy-dependencies", "-DoutputDirectory=lib", "-DincludeScope=runtime"];
  await must(["mvn", "-q", "-B", "-f", join(folder, "pom.xml"), ...copy], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
  const classes = ["-cp", join(folder, "lib", "*"), "-d", folder];
  await must(["javac", "--release", RELEASE, ...classes, join(folder, `${className}.java`)], {
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
  });
}

export interface PythonImageSource {
  /** The image's name and tag, such as "lab.local/python-controller:1". */
  reference: string;
  /** The program, and its files besides Python and the `kubernetes` package. */
  entries: readonly Entry[];
  command: readonly string[];
  /** A file that names packages of PyPI and everything that these need, each with its version. Needs `pip`. */
  requirements?: string;
  progress?: Progress;
}

/** Where packages of PyPI are in an image. */
const WHEELS = "/opt/wheels";

/**
 * Without compiled modules every start takes seconds, since the client has hundreds of them. They must not depend on
 * the modification times of the sources, which an image does not keep.
 */
const COMPILE =
  "python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3 /usr/lib/python3.* || true";

/** Builds an image with Debian's Python and its Kubernetes client. */
export async function pythonImage(source: PythonImageSource): Promise<Image> {
  const { reference, entries, command, requirements, progress = silent } = source;
  const python = await debianEntries({
    packages: ["python3-minimal", "python3-kubernetes", "busybox-static"],
    finish: COMPILE,
    progress,
  });
  const wheels = requirements === undefined ? [] : await wheelEntries(requirements, python);
  const env = { PYTHONUNBUFFERED: "1", ...(requirements !== undefined && { PYTHONPATH: WHEELS }) };
  return buildImage({ reference, entries: [...python, ...wheels, ...entries], command, env });
}

/** Packages of PyPI for the Python of an image. If that of this machine is of another version, they are compiled at each start. */
async function wheelEntries(requirements: string, python: readonly Entry[]): Promise<Entry[]> {
  const [version] = python.flatMap(({ path }) => /\/python(3\.\d+)\/os\.py$/.exec(path)?.[1] ?? []);
  if (version === undefined) throw new Error("expected /usr/lib/python3.N/os.py in the image, found none");
  const inputs = [readFileSync(requirements, "utf8"), version, "compiled"];
  const platforms = ["manylinux2014", "manylinux_2_28"].map(one => `--platform=${one}_${MACHINES[process.arch] ?? ""}`);
  const folder = await cachedFolder("wheels", inputs, async target => {
    const only = ["--only-binary=:all:", `--python-version=${version}`, "--implementation=cp", ...platforms];
    const argv = ["python3", "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", ...only];
    await must([...argv, `--target=${target}`, `--requirement=${requirements}`], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
    const own = await must(["python3", "-c", "import sys; print(*sys.version_info[:2], sep='.')"]);
    const compile = ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", target];
    if (own.trim() === version) await run(compile, { timeoutMs: DOWNLOAD_TIMEOUT_MS });
  });
  return folderEntries(folder, WHEELS);
}

const MACHINES: Partial<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

/** The Node.js of the operator's image; deploy/image/Dockerfile and .nvmrc name the same. */
export const NODE_VERSION = "24.21.0";

/** The output of `npm view node-linux-ARCH@VERSION dist.integrity`; the download is checked against it. */
const INTEGRITY: Partial<Record<string, string>> = {
  x64: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  arm64: "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
};

/** Path of that Node.js for Linux, a package of the npm registry. Downloaded once, checked, and kept in the cache. Its license is beside `bin`. */
export async function nodeRelease(progress: Progress = silent, arch: string = process.arch): Promise<string> {
  const wanted = INTEGRITY[arch];
  if (wanted === undefined) throw new Error(`no checksum of Node.js ${NODE_VERSION} for ${arch}`);
  const spec = `node-linux-${arch}@${NODE_VERSION}`;
  const folder = await cachedFolder("node", [spec, wanted], async target => {
    progress(`downloading Node.js ${NODE_VERSION} from the npm registry`);
    const pack = ["npm", "pack", spec, "--silent", "--pack-destination", target];
    const tarball = join(target, (await must(pack, { timeoutMs: DOWNLOAD_TIMEOUT_MS })).trim());
    const found = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
    if (found !== wanted) throw new Error(`${spec}: found ${found}, expected ${wanted}`);
    const members = ["package/bin/node", "package/LICENSE"];
    await must(["tar", "--extract", "--strip-components=1", "--file", tarball, "--directory", target, ...members]);
    rmSync(tarball);
  });
  return join(folder, "bin", "node");
}
