import { createHash } from "node:crypto";
import { chmodSync, createReadStream, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { extract } from "tar-stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildImage, type ImageSource } from "./image";

/** The digest of the layer below, on every machine; it changes only if tar-stream writes headers differently. */
const LAYER_DIGEST = "sha256:1273d3d11ea6025ba1c0e0f97009aa9794eb9db8d710a4e016d129e8b2e126a3";

describe("buildImage", () => {
  let folder: string;
  let source: ImageSource;
  const cache = process.env["XDG_CACHE_HOME"];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "image-"));
    process.env["XDG_CACHE_HOME"] = folder;
    writeFileSync(join(folder, "program"), "#!/bin/sh\n");
    chmodSync(join(folder, "program"), 0o755);
    source = {
      reference: "lab.local/test:1",
      entries: [
        { path: "usr/bin/program", copy: join(folder, "program") },
        { path: "etc/greeting", content: "hello\n" },
        { path: "bin/other", link: "../usr/bin/program" },
      ],
      command: ["program"],
      env: { HOME: "/" },
    };
  });

  afterEach(() => {
    if (cache === undefined) delete process.env["XDG_CACHE_HOME"];
    else process.env["XDG_CACHE_HOME"] = cache;
    rmSync(folder, { recursive: true });
  });

  it("writes manifest, configuration and a layer with the digest in the configuration", async () => {
    const { tar } = await buildImage(source);
    const files = await contents(tar);
    const [manifest] = JSON.parse(text(files, "manifest.json")) as [
      { Config: string; RepoTags: string[]; Layers: string[] },
    ];
    expect(manifest).toMatchObject({ RepoTags: ["lab.local/test:1"], Layers: ["layer.tar"] });
    expect(manifest.Config).toBe(`${sha256(text(files, manifest.Config))}.json`);
    const config = JSON.parse(text(files, manifest.Config)) as object;
    expect(config).toMatchObject({
      os: "linux",
      config: { Cmd: ["program"], WorkingDir: "/" },
      rootfs: { type: "layers", diff_ids: [`sha256:${sha256(files.get("layer.tar")?.data ?? Buffer.alloc(0))}`] },
    });
  });

  it("writes folders before their content, keeps modes and links, and omits users and times", async () => {
    const { tar } = await buildImage(source);
    writeFileSync(join(folder, "layer.tar"), (await contents(tar)).get("layer.tar")?.data ?? "");
    const entries = [...(await contents(join(folder, "layer.tar"))).entries()];
    expect(entries.map(([name, { type, mode, linkname }]) => [name, type, mode, linkname])).toEqual([
      ["bin/", "directory", 0o755, null],
      ["etc/", "directory", 0o755, null],
      ["tmp/", "directory", 0o1777, null],
      ["usr/", "directory", 0o755, null],
      ["usr/bin/", "directory", 0o755, null],
      ["usr/bin/program", "file", 0o755, null],
      ["etc/greeting", "file", 0o644, null],
      ["bin/other", "symlink", 0o644, "../usr/bin/program"],
    ]);
    expect(`sha256:${sha256(readFileSync(join(folder, "layer.tar")))}`).toBe(LAYER_DIGEST);
  });

  it("returns the cached image, and a new one after a change of a file's content", async () => {
    const { tar } = await buildImage(source);
    const { ino } = statSync(tar);
    expect(statSync((await buildImage(source)).tar).ino).toBe(ino);
    writeFileSync(join(folder, "program"), "#!/bin/ksh\n");
    expect((await buildImage(source)).tar).not.toBe(tar);
  });
});

interface File {
  type: string | null | undefined;
  mode: number | undefined;
  linkname: string | null | undefined;
  data: Buffer;
}

async function contents(tar: string): Promise<Map<string, File>> {
  const files = new Map<string, File>();
  for await (const entry of createReadStream(tar).pipe(extract())) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk);
    const { name, type, mode, linkname } = entry.header;
    files.set(name, { type, mode, linkname, data: Buffer.concat(chunks) });
  }
  return files;
}

function text(files: Map<string, File>, name: string): string {
  return files.get(name)?.data.toString() ?? "";
}

function sha256(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex");
}
