import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { must } from "../commands";
import { silent, type Progress } from "../progress";
import { cachedFolder, DOWNLOAD_TIMEOUT_MS } from "./cached-folder";
import { debianEntries } from "./debian";
import { buildImage, folderEntries, type Image } from "./image";

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
    command: [
      "/usr/lib/jvm/default-java/bin/java",
      "-Xmx128m",
      "-XX:TieredStopAtLevel=1",
      "-cp",
      "/app:/app/lib/*",
      className,
    ],
  });
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
