import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { must } from "../lab/commands";
import { unpackEarlier } from "../upgrade/earlier";

const folder = mkdtempSync(join(tmpdir(), "earlier-"));
const repository = join(folder, "repository");

const git = (...args: string[]): Promise<string> =>
  must(["git", "-C", repository, "-c", "user.name=test", "-c", "user.email=test@example.com", ...args]);

/** Commits a version of all parts. */
async function commit(text: string): Promise<void> {
  const folders = ["capabilities/a", "src/a", "crds/a", "deploy/a", "test/a"];
  for (const file of ["pepr.ts", ...folders, "package.json", "package-lock.json", "tsconfig.json"]) {
    mkdirSync(join(repository, file, ".."), { recursive: true });
    writeFileSync(join(repository, file), text);
  }
  await git("add", "--all");
  await git("commit", "--quiet", "--message", text);
}

beforeAll(async () => {
  mkdirSync(repository);
  await git("init", "--quiet");
  for (const text of ["first", "second", "third"]) await commit(text);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("an earlier version", () => {
  const textOf = async (...[name, where]: [name?: string, where?: string]): Promise<string> => {
    const into = mkdtempSync(join(folder, "into-"));
    await unpackEarlier(into, name, where ?? repository);
    expect(existsSync(join(into, "test"))).toBe(false);
    return readFileSync(join(into, "src", "a"), "utf8");
  };
  const shallow = async (name: string): Promise<string> => {
    const clone = join(folder, name);
    await must(["git", "clone", "--quiet", "--depth=1", pathToFileURL(repository).href, clone]);
    return clone;
  };

  it("is the named one, the newest release, or what is checked out", async () => {
    expect(await textOf("HEAD~2")).toBe("first");
    expect(await textOf()).toBe("third");
    await expect(textOf("", await shallow("untagged"))).rejects.toThrow(/shallow.*`git fetch --unshallow --tags`$/);
    await git("tag", "v0.9.0", "HEAD~2");
    await git("tag", "v0.10.0", "HEAD~1");
    expect(await textOf()).toBe("second");
  });

  it("is refused if there is none of this name", async () => {
    await expect(textOf("HEAD~3")).rejects.toThrow(/has no HEAD~3$/);
  });
});
