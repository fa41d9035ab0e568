import { execFileSync, spawnSync, type SpawnSyncOptionsWithStringEncoding } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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
  expect(archive.files.map(({ path }) => path).sort()).toEqual(
    ["LICENSE", "THIRD-PARTY-NOTICES.txt", "kubectl-resilience.js", "package.json"].sort(),
  );
  const text = readFileSync(join(folder, "package", "THIRD-PARTY-NOTICES.txt"), "utf8");
  for (const name of ["yaml", "commander", "@kubernetes/client-node"]) expect(text).toContain(`\n${name}@`);
  expect(text.match(/Permission is hereby granted, free of charge/g)?.length).toBeGreaterThan(10);
});

it("is what the manifest for krew unpacks on macOS; Linux has executables", () => {
  const text = krewManifest("https://example.com/a/b", name => name.length.toString(16).padStart(64, "0"));
  const { metadata, spec } = parse(text) as {
    metadata: { name: string };
    spec: {
      version: string;
      platforms: { uri: string; sha256: string; bin: string; files: { from: string; to: string }[] }[];
    };
  };
  expect([metadata.name, spec.version]).toEqual(["resilience", `v${cfg.version}`]);
  const executables = ["amd64", "arm64"].map(arch => `kubectl-resilience-${cfg.version}-linux-${arch}.tar.gz`);
  const names = [...executables, archive.filename];
  expect(spec.platforms.map(({ uri }) => uri)).toEqual(
    names.map(name => `https://example.com/a/b/releases/download/v${cfg.version}/${name}`),
  );
  expect(spec.platforms.map(({ sha256 }) => parseInt(sha256, 16))).toEqual(names.map(({ length }) => length));
  const paths = archive.files.map(({ path }) => `package/${path}`);
  const { bin = "", files = [] } = spec.platforms.at(-1) ?? {};
  expect(files.map(({ to }) => to)).toContain(bin);
  expect(paths).toEqual(expect.arrayContaining(files.map(({ from }) => from)));
  expect(text).not.toMatch(/REPOSITORY|SHA256/);
});

it("has no manifest without an address and checksums", () => {
  expect(() => krewManifest("a/b", () => "0".repeat(64))).toThrow("expected the https address");
  expect(() => krewManifest("https://example.com/a/b", () => "0")).toThrow("expected a checksum");
});

it("asks Node.js for nothing that is deprecated", () => {
  const program = join(folder, "package", "kubectl-resilience.js");
  expect(readFileSync(program, "utf8")).not.toMatch(/require\("punycode"\)/);
  const help = spawnSync(process.execPath, ["--throw-deprecation", program, "--help"], { encoding: "utf8" });
  expect([help.status, help.stderr]).toEqual([0, ""]);
  expect(help.stdout).toContain("kubectl resilience");
});

it("runs with npx, without any other package and without the repository", () => {
  const args = ["--yes", "--offline", `./${archive.filename}`, "replay", "--spec", "-"];
  const { status, stderr } = spawnSync("npx", args, { ...npm, stdio: ["ignore", "pipe", "pipe"] });
  expect(stderr).toContain("failed to read -");
  expect(status).toBe(1);
});

it("ends without a stack trace when its reader closes the pipe", () => {
  const script = `i=0; while [ $i -lt 20000 ]; do echo "x: Unauthorized"; i=$((i+1)); done | package/kubectl-resilience.js classify 2>err | head -1; cat err`;
  const { stdout } = spawnSync("bash", ["-c", `${script}; echo "\${PIPESTATUS[*]}"`], npm);
  expect(stdout).toContain("unauthorized  x: Unauthorized");
  expect(stdout).not.toMatch(/ at |Error/);
});
