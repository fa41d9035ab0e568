import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { notices } from "../../scripts/release/notices";
import { bundledPackages, filesInOutput, filesOfSourceMap } from "../../scripts/release/packages";
import { sbom } from "../../scripts/release/sbom";
import { schemaViolations } from "./schema";

const folder = mkdtempSync(join(tmpdir(), "inventory-"));
const image = { name: "operator", version: "1.2.3", nodeVersion: "24.0.0", baseImage: "example.com/base:nonroot" };

function install(path: string, manifest: object, files: Record<string, string> = {}): void {
  mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, path, "package.json"), JSON.stringify(manifest));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, path, name), text);
}

beforeAll(() => {
  const mit = { version: "1.0.0", license: "MIT" };
  install(
    "node_modules/@a/b",
    { ...mit, name: "@a/b" },
    { LICENSE: "text of b\n", NOTICE: "notice of b", "index.js": "" },
  );
  install("node_modules/c", { ...mit, name: "c", author: "C. Author" });
  install("node_modules/d/node_modules/c", { ...mit, name: "c", author: "C. Author" });
  install("node_modules/copyleft", { ...mit, name: "copyleft", license: "GPL-3.0-only" });
  install("node_modules/unlicensed", { name: "unlicensed", version: "2.0.0" });
});

afterAll(() => rmSync(folder, { recursive: true }));

const packages = (): ReturnType<typeof bundledPackages> =>
  bundledPackages(folder, [
    "src/main.ts",
    "node_modules/@a/b/index.js",
    "node_modules/d/node_modules/c/x.js",
    "node_modules/c/y.js",
  ]);

describe("bundledPackages", () => {
  it("finds each package once, with all its texts", () => {
    expect(packages().map(({ name, texts }) => [name, texts])).toEqual([
      ["@a/b", ["text of b", "notice of b"]],
      ["c", []],
    ]);
  });

  it.each(["copyleft", "unlicensed"])("refuses a package with another license, or with none: %s", name => {
    expect(() => bundledPackages(folder, [`node_modules/${name}/index.js`])).toThrow(`${name}@`);
  });
});

describe("the files of a bundle", () => {
  it("are those with code in the output, not all that were read", () => {
    const inputs = { "node_modules/used/a.js": { bytesInOutput: 9 }, "node_modules/unused/b.js": { bytesInOutput: 0 } };
    const output = { inputs, bytes: 9, imports: [], exports: [] };
    expect(filesInOutput({ outputs: { "out.js": output } })).toEqual(["node_modules/used/a.js"]);
  });

  it("include those of a bundle in it", () => {
    mkdirSync(join(folder, "dist"));
    const sources = ["../src/main.ts", "../node_modules/c/y.js"];
    writeFileSync(join(folder, "dist", "module.js.map"), JSON.stringify({ sources }));
    expect(filesOfSourceMap(folder, "dist/module.js")).toEqual(["src/main.ts", "node_modules/c/y.js"]);
  });
});

describe("sbom", () => {
  it("is valid, and lists Node.js, the base image and every package", () => {
    const bill = JSON.parse(sbom({ ...image, packages: packages() })) as { components: { "bom-ref": string }[] };
    expect(schemaViolations(bill)).toEqual([]);
    expect(bill.components.map(found => found["bom-ref"])).toEqual([
      "example.com/base:nonroot",
      "pkg:generic/node@24.0.0",
      "pkg:npm/%40a/b@1.0.0",
      "pkg:npm/c@1.0.0",
    ]);
    expect(schemaViolations({ ...bill, components: [{ name: "without a type" }] })).not.toEqual([]);
  });

  it("knows the base image by its digest, too", () => {
    const digest = "0123456789abcdef".repeat(4);
    const pinned = { ...image, baseImage: `example.com:5000/base:nonroot@sha256:${digest}`, packages: [] };
    const { components } = JSON.parse(sbom(pinned)) as { components: object[] };
    const hashes = [{ alg: "SHA-256", content: digest }];
    expect(components[0]).toMatchObject({ name: "example.com:5000/base", version: "nonroot", hashes });
    expect(schemaViolations(JSON.parse(sbom(pinned)))).toEqual([]);
  });

  it("is the same for the same contents, and has another serial number for others", () => {
    expect(sbom({ ...image, packages: packages() })).toBe(sbom({ ...image, packages: packages() }));
    const number = (text: string): unknown => (JSON.parse(text) as { serialNumber: string }).serialNumber;
    expect(number(sbom({ ...image, packages: [] }))).not.toBe(number(sbom({ ...image, packages: packages() })));
  });
});

it("notices have the texts of each package, and name the author of one without", () => {
  const text = notices("operator.js", packages());
  for (const part of ["@a/b@1.0.0: MIT\n\ntext of b\n\nnotice of b", "c@1.0.0: MIT", "by C. Author"])
    expect(text).toContain(part);
});
