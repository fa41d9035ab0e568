import { silent, type Progress } from "../progress";
import { debianEntries } from "./debian";
import { buildImage, type Entry, type Image } from "./image";

export interface PythonImageSource {
  /** The image's name and tag, such as "lab.local/python-controller:1". */
  reference: string;
  /** The program, and its files besides Python and the `kubernetes` package. */
  entries: readonly Entry[];
  command: readonly string[];
  progress?: Progress;
}

/**
 * Without compiled modules every start takes seconds, since the client has hundreds of them. They must not depend on
 * the modification times of the sources, which an image does not keep.
 */
const COMPILE =
  "python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3 /usr/lib/python3.* || true";

/** Builds an image with Debian's Python and its Kubernetes client. */
export async function pythonImage(source: PythonImageSource): Promise<Image> {
  const { reference, entries, command, progress = silent } = source;
  const python = await debianEntries({
    packages: ["python3-minimal", "python3-kubernetes", "busybox-static"],
    finish: COMPILE,
    progress,
  });
  const env = { PYTHONUNBUFFERED: "1" };
  return buildImage({ reference, entries: [...python, ...entries], command, env });
}
