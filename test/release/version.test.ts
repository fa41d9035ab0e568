import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import cfg from "../../package.json";
import { krewManifest } from "../../scripts/release/krew";
import { NAMED_IN, withVersion } from "../../scripts/release/version";

const root = join(__dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const next = { from: cfg.version, to: "99.0.0-rc.1" };

it.each(Object.keys(NAMED_IN))("%s gets the version of a release, wherever it names one", path => {
  const text = read(path);
  const changed = withVersion(path, text, next);
  expect(changed).not.toContain(cfg.version);
  expect(changed.replaceAll(next.to, next.from)).toBe(text);
});

it("the version of a release is in the manifest for krew, which refuses another", () => {
  const manifest = krewManifest("https://code.example/a/b", () => "0".repeat(64));
  expect(manifest).toContain(`/releases/download/v${cfg.version}/`);
});

it("says which file does not name the version", () => {
  expect(() => withVersion("README.md", "nothing", next)).toThrow(
    `expected "controller-resilience:${cfg.version}" in README.md, found none`,
  );
});
