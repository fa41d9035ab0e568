import { execFileSync, spawnSync, type SpawnSyncOptionsWithStringEncoding } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import cfg from "../../../package.json";
import { bundleCli } from "../../../scripts/bundle-cli";
import { krewManifest } from "../../../scripts/release/krew";

const folder = mkdtempSync(join(tmpdir(), "kubectl-resilience-package-"));
const npm: SpawnSyncOptionsWithStringEncoding = {
  cwd: folder,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
  // npx keeps what it installs here.
  env: { ...process.env, npm_config_cache: join(folder, "cache") },
};
let archive: { filename: string; files: { path: string }[] };
beforeAll(async () => {
  await bundleCli(join(folder, "package"));
  const packed = execFileSync("npm", ["pack", "--json", "./package"], npm);
  [archive] = JSON.parse(packed) as [typeof archive];
});
afterAll(() => rmSync(folder, { recursive: true }));

it("has the program, the licenses and nothing else", () => {
  const program = ["kubectl_complete-resilience", "kubectl-resilience.js", "kubectl-resilience.js.LEGAL.txt"];
  expect(archive.files.map(({ path }) => path)).toEqual(["LICENSE", ...program, "package.json"]);
});

it("is what the manifest for krew unpacks", () => {
  const text = krewManifest({ repository: "https://example.com/a/b", sha256: "0".repeat(64) });
  const { metadata, spec } = parse(text) as {
    metadata: { name: string };
    spec: {
      version: string;
      platforms: { uri: string; sha256: string; bin: string; files: { from: string; to: string }[] }[];
    };
  };
  expect([metadata.name, spec.version]).toEqual(["resilience", `v${cfg.version}`]);
  const paths = archive.files.map(({ path }) => `package/${path}`);
  for (const { uri, sha256, bin, files } of spec.platforms) {
    expect(uri).toBe(`https://example.com/a/b/releases/download/v${cfg.version}/${archive.filename}`);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(files.map(({ to }) => to)).toContain(bin);
    expect(paths).toEqual(expect.arrayContaining(files.map(({ from }) => from)));
  }
  expect(text).not.toMatch(/REPOSITORY|SHA256/);
  expect(() => krewManifest({ repository: "a/b", sha256: "0" })).toThrow("expected");
});

it("runs with npx, without any other package and without the repository", () => {
  const args = ["--yes", "--offline", `./${archive.filename}`, "replay", "--spec", "-"];
  const { status, stderr } = spawnSync("npx", args, { ...npm, stdio: ["ignore", "pipe", "pipe"] });
  expect(stderr).toContain("failed to read -");
  expect(status).toBe(1);
  const help = execFileSync("npx", ["--yes", "--offline", `./${archive.filename}`, "--help"], npm);
  expect(help).toContain("kubectl resilience");
});

it("ends without a stack trace when its reader closes the pipe", () => {
  const script = `i=0; while [ $i -lt 20000 ]; do echo "x: Unauthorized"; i=$((i+1)); done | package/kubectl-resilience.js classify 2>err | head -1; cat err`;
  const { stdout } = spawnSync("bash", ["-c", `${script}; echo "\${PIPESTATUS[*]}"`], npm);
  expect(stdout).toContain("unauthorized  x: Unauthorized");
  expect(stdout).not.toMatch(/ at |Error/);
});
