// `npm run release:assets -- --image NAME --digest sha256:... --repository URL`: writes what a release offers besides the image into dist/release/.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { parseDocument, stringify } from "yaml";
import cfg from "../../package.json";
import { CHART, renderChart } from "../../test/cluster/chart";
import { helm } from "../../test/lab/helm";
import { printer } from "../../test/lab/progress";
import { CLI_FOLDER } from "../bundle-cli";
import { IMAGE_FOLDER } from "../bundle";
import { changesIn, notesOf } from "./changelog";
import { krewManifest } from "./krew";

const root = join(__dirname, "..", "..");

/** The image of a release. */
export interface ReleasedImage {
  /** With its registry, without a tag. */
  readonly name: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
}

/** What a release is made of. */
export interface Release {
  readonly image: ReleasedImage;
  /** https address of the repository that has the release. */
  readonly repository: string;
  /** Folder with the archives of the plugin's executables. */
  readonly executables: string;
}

/**
 * Writes the assets of a release into an empty folder, and their checksums.
 *
 * @throws Error for an image that is not named by its digest, or if `npm run build` or `build:plugin` was not run
 */
export async function writeAssets(folder: string, { image, repository, executables }: Release): Promise<void> {
  if (!/^sha256:[0-9a-f]{64}$/.test(image.digest))
    throw new Error(`expected a digest such as sha256:... with 64 digits, got "${image.digest}"`);
  if (!/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)+$/.test(image.name))
    throw new Error(`expected an image with its registry and without a tag, got "${image.name}"`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await packageChart(folder, image, repository);
  writeFileSync(join(folder, "install.yaml"), await installYaml(image));
  writeFileSync(join(folder, "crds.yaml"), crds());
  packPlugin(folder, executables);
  const manifest = krewManifest(repository, name => checksum(join(folder, name)));
  writeFileSync(join(folder, "krew.yaml"), manifest);
  for (const file of ["sbom.cdx.json", "THIRD-PARTY-NOTICES.txt"]) cpSync(join(IMAGE_FOLDER, file), join(folder, file));
  writeFileSync(join(folder, "checksums.txt"), checksums(folder));
}

/** The chart of a release installs the image by its digest: its values need no change. */
async function packageChart(folder: string, image: ReleasedImage, repository: string): Promise<void> {
  const copy = join(folder, "controller-resilience");
  cpSync(CHART, copy, { recursive: true });
  const change = (name: string, by: (text: string) => string): void => {
    writeFileSync(join(copy, name), by(readFileSync(join(copy, name), "utf8")));
  };
  const home = `${repository}/tree/v${cfg.version}/`;
  change("values.yaml", text => valuesWith(text, image));
  change("Chart.yaml", text => metadataWith(text, image, { repository, home }));
  // A chart is read far from its repository.
  change("README.md", text => text.replaceAll("](../../", `](${home}`));
  const { code, stderr } = await helm(["package", copy, "--destination", folder]);
  rmSync(copy, { recursive: true });
  if (code !== 0) throw new Error(`helm package: ${stderr.trim()}`);
}

function valuesWith(values: string, { name, digest }: ReleasedImage): string {
  const found = values
    .replace(/^ {2}repository: controller-resilience$/m, `  repository: ${name}`)
    .replace(/^ {2}digest: ""$/m, `  digest: ${digest}`);
  if (found.includes(`repository: ${name}`) && found.includes(`digest: ${digest}`)) return found;
  throw new Error("expected image.repository and image.digest in the values of the chart, found other lines");
}

/** `home` is also where alerts find their runbooks (values.yaml). */
function metadataWith(
  chart: string,
  { name, digest }: ReleasedImage,
  to: { repository: string; home: string },
): string {
  const document = parseDocument(chart);
  document.set("home", to.home);
  document.set("sources", [to.repository]);
  const shown = {
    images: [{ name: "controller-resilience", image: `${name}@${digest}` }],
    links: [
      { name: "Documentation", url: `${to.home}docs` },
      { name: "support", url: `${to.home}SUPPORT.md` },
    ],
    screenshots: ["dashboard", "audit"].map(title => ({
      title,
      url: `${to.repository}/raw/v${cfg.version}/docs/images/${title}.png`,
    })),
    changes: changesIn(ownNotes()),
  };
  for (const [what, value] of Object.entries(shown))
    document.setIn(["annotations", `artifacthub.io/${what}`], stringify(value));
  return String(document);
}

/** What has changed in this version. */
export function ownNotes(): string {
  return notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), cfg.version);
}

async function installYaml({ name, digest }: ReleasedImage): Promise<string> {
  const values = `namespace.create=true,image.repository=${name},image.digest=${digest}`;
  return `# controller-resilience ${cfg.version}\n${await renderChart(["--set", values], printer(process.stderr))}`;
}

function crds(): string {
  const folder = join(root, "crds");
  return readdirSync(folder)
    .filter(name => name.endsWith(".yaml"))
    .map(name => readFileSync(join(folder, name), "utf8").replace(/^(---\n)?/, "---\n"))
    .join("");
}

/** The npm package of the plugin, and the archives of its executables. */
function packPlugin(folder: string, executables: string): void {
  const archives = existsSync(executables) ? readdirSync(executables) : [];
  const ours = archives.filter(
    name => name.startsWith(`kubectl-resilience-${cfg.version}-`) && name.endsWith(".tar.gz"),
  );
  if (ours.length !== 2)
    throw new Error(
      `expected two archives of version ${cfg.version} in ${executables}, got ${ours.length}: run "npm run build:plugin"`,
    );
  for (const name of ours) cpSync(join(executables, name), join(folder, name));
  const { status, stderr } = spawnSync("npm", ["pack", CLI_FOLDER, "--pack-destination", folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(`npm pack: ${stderr.trim()}`);
}

/** In the format of sha256sum. */
function checksums(folder: string): string {
  const lines = readdirSync(folder)
    .sort()
    .map(name => `${checksum(join(folder, name))}  ${name}\n`);
  return lines.join("");
}

function checksum(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

async function main(): Promise<void> {
  const program = new Command("release:assets")
    .requiredOption("--image <name>", "image with its registry, without a tag")
    .requiredOption("--digest <digest>", "sha256:... of the image")
    .requiredOption("--repository <url>", "https address of the repository")
    .option("--out <folder>", "an empty or new folder", join(root, "dist", "release"))
    .parse();
  const { image, digest, repository, out } = program.opts<Record<"image" | "digest" | "repository" | "out", string>>();
  const executables = join(root, "dist", "plugin");
  await writeAssets(out, { image: { name: image, digest }, repository, executables }).catch((error: unknown) =>
    program.error(error instanceof Error ? error.message : String(error)),
  );
  console.log(readFileSync(join(out, "checksums.txt"), "utf8").trimEnd());
}

if (process.argv[1] === __filename) void main();
