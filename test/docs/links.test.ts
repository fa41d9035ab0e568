import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { anchors, internalLinks } from "./links";

const root = join(__dirname, "../..");
const SKIPPED = ["node_modules", "dist", "coverage", ".git", ".lab", ".pages", "fixtures"];

function markdownFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !SKIPPED.includes(name))
    .flatMap(entry => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return markdownFiles(path);
      return entry.name.endsWith(".md") ? [path] : [];
    });
}

function brokenLinks(file: string): string[] {
  return internalLinks(readFileSync(file, "utf8"))
    .filter(({ path, anchor }) => {
      const target = path === "" ? file : join(dirname(file), path);
      if (!existsSync(target)) return true;
      if (anchor === undefined || !target.endsWith(".md") || statSync(target).isDirectory()) return false;
      return !anchors(readFileSync(target, "utf8")).has(anchor);
    })
    .map(({ path, anchor }) => (anchor === undefined ? path : `${path}#${anchor}`));
}

const files = markdownFiles(root);

it("finds the Markdown files of this project", () => {
  expect(files.map(file => relative(root, file))).toContain(join("docs", "api.md"));
});

it.each(files.map(file => relative(root, file)))("%s has no broken internal link", file => {
  expect(brokenLinks(join(root, file))).toEqual([]);
});

describe("internalLinks", () => {
  it("returns paths and anchors, and skips other sites and code", () => {
    const text = "[a](b.md#c) [d](https://e.example/f) `[g](h.md)`\n\n```text\n[i](j.md)\n```\n\n[k](#l)\n";
    expect(internalLinks(text)).toEqual([
      { path: "b.md", anchor: "c" },
      { path: "", anchor: "l" },
    ]);
  });

  it("returns reference definitions", () => {
    expect(internalLinks("[a]: b.md\n")).toEqual([{ path: "b.md", anchor: undefined }]);
  });
});

it("anchors forms them as GitHub does, and numbers repeated headings", () => {
  const text = "# The API: `Thing` (v1)\n\n## Same\n\n## Same\n\n```sh\n# comment\n```\n";
  expect([...anchors(text)]).toEqual(["the-api-thing-v1", "same", "same-1"]);
});
