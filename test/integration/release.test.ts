import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import cfg from "../../package.json";
import { ownNotes, writeAssets } from "../../scripts/release/assets";
import { changesIn } from "../../scripts/release/changelog";
import { ensureBuilt } from "../controllers/operator-image";
import { actionlint } from "../lab/actionlint";
import { must } from "../lab/commands";
import { helm } from "../lab/helm";
import { krew } from "../lab/krew";

// What a release consists of besides the image, made as the workflow makes it.

const folder = mkdtempSync(join(tmpdir(), "release-"));
// `npm run build:plugin` makes them, in two minutes.
const executables = mkdtempSync(join(tmpdir(), "executables-"));
const archives = ["amd64", "arm64"].map(arch => `kubectl-resilience-${cfg.version}-linux-${arch}.tar.gz`);
const image = { name: "registry.example/team/controller-resilience", digest: `sha256:${"0123456789abcdef".repeat(4)}` };
const repository = "https://code.example/team/controller-resilience";
const byDigest = `${image.name}@${image.digest}`;
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

/** An archive as `npm run build:plugin` makes it, with a script in place of the executable. */
async function packExecutable(name: string): Promise<void> {
  const into = join(executables, name.replace(".tar.gz", ""));
  mkdirSync(into);
  writeFileSync(join(into, "kubectl-resilience"), `#!/bin/sh\necho ${name}\n`, { mode: 0o755 });
  for (const license of ["LICENSE", "LICENSE-nodejs"]) writeFileSync(join(into, license), license);
  await must(["tar", "--create", "--gzip", "--file", join(executables, name), "--directory", into, "."]);
  rmSync(into, { recursive: true });
}

beforeAll(async () => {
  await ensureBuilt();
  for (const name of archives) await packExecutable(name);
  await writeAssets(folder, { image, repository, executables });
});

afterAll(() => [folder, executables].forEach(path => rmSync(path, { recursive: true, force: true })));

it("consists of the chart, manifests, the plugin, and what is in the image, with checksums of all", async () => {
  const names = [
    `controller-resilience-${cfg.version}.tgz`,
    "crds.yaml",
    "install.yaml",
    "krew.yaml",
    ...archives,
    `kubectl-resilience-${cfg.version}.tgz`,
    "sbom.cdx.json",
    "THIRD-PARTY-NOTICES.txt",
  ];
  expect(readdirSync(folder).sort()).toEqual([...names, "checksums.txt"].sort());
  const checked = await must(["sh", "-c", `cd ${folder} && sha256sum --check checksums.txt`]);
  expect(checked.trim().split("\n").sort()).toEqual(names.map(name => `${name}: OK`).sort());
});

it("installs the image by its digest, without a value", async () => {
  const chart = join(folder, `controller-resilience-${cfg.version}.tgz`);
  const { stdout, stderr } = await helm(["template", "a", chart, "--skip-tests"]);
  expect(stderr).toBe("");
  for (const text of [stdout, read("install.yaml")])
    expect([...text.matchAll(/^ +image: (.*)$/gm)].map(([, found]) => found)).toEqual([byDigest]);
});

it("has a chart that says where it comes from, and links there", async () => {
  const chart = join(folder, `controller-resilience-${cfg.version}.tgz`);
  const { stdout } = await helm(["show", "chart", chart]);
  const home = `${repository}/tree/v${cfg.version}/`;
  expect(parse(stdout)).toMatchObject({ home, sources: [repository], version: cfg.version });
  const { annotations } = parse(stdout) as { annotations: Record<string, string> };
  expect(parse(annotations["artifacthub.io/images"] ?? "")).toEqual([
    { name: "controller-resilience", image: byDigest },
  ]);
  expect(parse(annotations["artifacthub.io/links"] ?? "")).toContainEqual({
    name: "support",
    url: `${home}SUPPORT.md`,
  });
  const shots = parse(annotations["artifacthub.io/screenshots"] ?? "") as { url: string }[];
  const files = shots.map(({ url }) => url.replace(`${repository}/raw/v${cfg.version}`, join(__dirname, "../..")));
  expect(files.map(file => existsSync(file))).toEqual([true, true]);
  expect(parse(annotations["artifacthub.io/changes"] ?? "")).toContainEqual(changesIn(ownNotes())[0]);
  const { stdout: readme } = await helm(["show", "readme", chart]);
  expect(readme).toContain(`](${home}docs/install.md)`);
  expect(readme).not.toContain("](..");
});

it("has a manifest for krew with the checksum of each archive of the plugin", () => {
  const { spec } = parse(read("krew.yaml")) as { spec: { platforms: { uri: string; sha256: string }[] } };
  const lines = spec.platforms.map(({ uri, sha256 }) => `${sha256}  ${uri.split("/").at(-1) ?? ""}`);
  expect(lines).toHaveLength(3);
  expect(read("checksums.txt").split("\n")).toEqual(expect.arrayContaining(lines));
});

it.each([
  { os: "linux", arch: "amd64", archive: archives[0]!, says: archives[0]! },
  { os: "linux", arch: "arm64", archive: archives[1]!, says: archives[1]! },
  { os: "darwin", arch: "arm64", archive: `kubectl-resilience-${cfg.version}.tgz`, says: cfg.version },
])("is installed by krew itself, with its licenses: $os $arch", async ({ os, arch, archive, says }) => {
  const root = mkdtempSync(join(tmpdir(), "krew-"));
  try {
    const files = [`--manifest=${join(folder, "krew.yaml")}`, `--archive=${join(folder, archive)}`];
    const { code, stderr } = await krew(["install", ...files], { root, os, arch });
    expect(stderr).toContain("Installed plugin: resilience");
    expect(code).toBe(0);
    // The file for macOS needs nothing but Node.
    const said = await must([join(root, "bin", "kubectl-resilience"), "--version"]);
    expect(said.trim()).toBe(says);
    const installed = readdirSync(join(root, "store", "resilience", `v${cfg.version}`));
    expect(installed).toContain("LICENSE");
  } finally {
    rmSync(root, { recursive: true });
  }
});

it("has both definitions, and nothing else, as documents of one file", () => {
  const kinds = parseAllDocuments(read("crds.yaml")).map(
    document => (document.toJS() as { spec: { names: { kind: string } } }).spec.names.kind,
  );
  expect(kinds.sort()).toEqual(["ClusterControllerResilience", "ControllerResilience"]);
});

it.each([
  [{ ...image, digest: "latest" }, "expected a digest"],
  [{ ...image, name: "controller-resilience" }, "expected an image with its registry"],
  [{ ...image, name: `${image.name}:v1` }, "without a tag"],
])("refuses the image %o", async (wrong, message) => {
  await expect(writeAssets(join(folder, "wrong"), { image: wrong, repository, executables })).rejects.toThrow(message);
});

it("needs the executables of its own version", async () => {
  const none = { image, repository, executables: join(folder, "none") };
  await expect(writeAssets(join(folder, "wrong"), none)).rejects.toThrow('run "npm run build:plugin"');
});

it("is published by workflows that GitHub understands", async () => {
  const workflows = join(__dirname, "../../.github/workflows");
  const files = readdirSync(workflows).map(name => join(workflows, name));
  expect(await actionlint(files)).toMatchObject({ code: 0, stdout: "", stderr: "" });
});
