import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { must, run } from "../lab/commands";
import { GitServer } from "./git-server";

let folder: string;
let server: GitServer;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "git-server-"));
  server = await GitServer.start(join(folder, "served"));
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const clone = (): string => join(folder, "clone");

it("serves each commit of a repository", async () => {
  const repository = await server.repository("one");
  await repository.commit({ "objects.yaml": [{ kind: "First" }] });
  await must(["git", "clone", "--quiet", "--depth=1", "--branch=main", repository.url, clone()]);
  const read = (): string => readFileSync(join(clone(), "objects.yaml"), "utf8");
  expect(read()).toBe("kind: First\n");
  const commit = await repository.commit({ "objects.yaml": [{ kind: "Second" }] });
  await must(["git", "-C", clone(), "pull", "--quiet"]);
  expect(read()).toBe("kind: Second\n");
  expect(await must(["git", "ls-remote", repository.url, "main"])).toContain(commit);
});

it("serves no push, and no repository that does not exist", async () => {
  const repository = await server.repository("one");
  await repository.commit({ "objects.yaml": "" });
  await must(["git", "clone", "--quiet", repository.url, clone()]);
  expect(await run(["git", "-C", clone(), "push", "origin", "HEAD:other"])).toMatchObject({
    code: 128,
    stderr: expect.stringContaining("403") as string,
  });
  expect((await run(["git", "ls-remote", repository.url.replace("one", "two")])).stderr).toContain("not found");
});

it("ends connections while it is away, and serves the same address again", async () => {
  const repository = await server.repository("one");
  await repository.commit({ "objects.yaml": [{ kind: "First" }] });
  const look = ["git", "ls-remote", repository.url, "main"];
  server.goAway();
  expect((await run(look)).code).toBe(128);
  server.comeBack();
  expect(await must(look)).toContain("refs/heads/main");
});
