import { readFileSync } from "node:fs";
import { must, run } from "../commands";
import { silent, type Progress } from "../progress";
import { cachedFolder, DOWNLOAD_TIMEOUT_MS } from "./cached-folder";
import { debianEntries } from "./debian";
import { buildImage, folderEntries, type Entry, type Image } from "./image";

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
