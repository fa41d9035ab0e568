import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { must } from "../lab/commands";
import { unpackEarlier } from "./earlier";

const folder = mkdtempSync(join(tmpdir(), "earlier-"));
const repository = join(folder, "repository");
const commits: string[] = [];

const git = (where: string, ...args: string[]): Promise<string> =>
  must(["git", "-C", where, "-c", "user.name=test", "-c", "user.email=test@example.com", ...args]);

/** Commits a version of all parts, and perhaps the fixtures of a release. */
async function commit(text: string, release?: string): Promise<void> {
  const folders = ["capabilities/a", "src/a", "crds/a", "deploy/a"];
  const files = ["pepr.ts", ...folders, "package.json", "package-lock.json", "tsconfig.json"];
  if (release !== undefined) files.push(`test/fixtures/releases/${release}/objects.json`);
  for (const file of files) {
    mkdirSync(join(repository, file, ".."), { recursive: true });
    writeFileSync(join(repository, file), text);
  }
  await git(repository, "add", "--all");
  await git(repository, "commit", "--quiet", "--message", text);
  commits.push((await git(repository, "rev-parse", "HEAD")).trim());
}

beforeAll(async () => {
  mkdirSync(repository);
  await git(repository, "init", "--quiet");
  await commit("first", "0.9.0");
  await commit("second", "0.10.0");
  await commit("third");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("an earlier version", () => {
  const into = (name: string): string => join(folder, name);

  it("is the newest release by default", async () => {
    expect(await unpackEarlier(into("default"), "", repository)).toMatchObject({ commit: commits[1] });
    expect(readFileSync(into("default/src/a"), "utf8")).toBe("second");
    expect(existsSync(into("default/test"))).toBe(false);
  });

  it("is the named one", async () => {
    expect(await unpackEarlier(into("named"), "HEAD~2", repository)).toMatchObject({ commit: commits[0] });
    expect(readFileSync(into("named/src/a"), "utf8")).toBe("first");
  });

  it("is refused if there is none of this name", async () => {
    await expect(unpackEarlier(into("none"), "HEAD~3", repository)).rejects.toThrow(/has no HEAD~3$/);
  });

  it("is never the oldest commit of a shallow clone instead", async () => {
    const clone = join(folder, "shallow");
    await must(["git", "clone", "--quiet", "--depth=1", pathToFileURL(repository).href, clone]);
    const words = /has no commit of the newest release, because it is shallow: run `git fetch --unshallow --tags`$/;
    await expect(unpackEarlier(into("shallow-default"), "", clone)).rejects.toThrow(words);
    await expect(unpackEarlier(into("shallow-named"), "HEAD~1", clone)).rejects.toThrow(/has no HEAD~1, because/);
  });

  it("is a tag, also in a shallow clone that has it", async () => {
    await git(repository, "tag", "v0.10.0", commits[2]!);
    const clone = join(folder, "tagged");
    await must(["git", "clone", "--quiet", "--depth=1", "--branch=v0.10.0", pathToFileURL(repository).href, clone]);
    expect(await unpackEarlier(into("tag"), "", clone)).toMatchObject({ commit: commits[2] });
  });

  it("needs a history", async () => {
    const bare = join(folder, "no-repository");
    mkdirSync(bare);
    await expect(unpackEarlier(into("no"), "", bare)).rejects.toThrow(/needs the history of this project/);
  });
});
