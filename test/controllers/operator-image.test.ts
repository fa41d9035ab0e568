import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { developmentPackages } from "../../scripts/bundle";
import { packageFolders } from "../../scripts/release/packages";
import { NODE_VERSION } from "../lab/images";
import { operatorStage } from "./operator-image";

const root = join(__dirname, "..", "..");
const dockerfile = readFileSync(join(root, "deploy", "image", "Dockerfile"), "utf8");

describe("the operator's Dockerfile", () => {
  const stage = operatorStage();

  it("names the Node.js that the lab's image has, and that of .nvmrc", () => {
    expect(stage.args).toEqual({ NODE_VERSION });
    expect(readFileSync(join(root, ".nvmrc"), "utf8").trim()).toBe(NODE_VERSION);
  });

  it("runs commands on the builder's platform only, so that a release for two needs no emulation", () => {
    const stages = dockerfile.split(/^FROM /m).slice(1);
    const running = stages.filter(text => /^RUN /m.test(text));
    expect(running.map(text => text.split("\n", 1)[0])).toEqual([
      "--platform=$BUILDPLATFORM node:${NODE_VERSION}-trixie-slim AS build",
    ]);
    expect(stages[1]?.trim()).toMatch(/^node:\$\{NODE_VERSION\}-trixie-slim AS node/);
  });

  it("runs the operator itself as a user by number, so that runAsNonRoot can be checked and signals arrive", () => {
    expect(stage.user).toBe("65532:65532");
    expect(stage.entrypoint).toEqual(["/usr/local/bin/node", "--max-semi-space-size=4", "/app/operator.js"]);
    expect(stage.env).toEqual({ MALLOC_MMAP_THRESHOLD_: "32000" });
  });

  it("copies only Node.js with its license and the output of the build", () => {
    expect(stage.copies).toEqual([
      { from: "/usr/local/bin/node", to: "/usr/local/bin/node" },
      { from: "/usr/local/LICENSE", to: "/usr/share/doc/node/LICENSE" },
      { from: "/build/dist/image/", to: "/app/" },
    ]);
  });

  it("builds from the lock file, with the same command as the lab", () => {
    expect(dockerfile).toMatch(/^RUN npm ci .*\nCOPY \. \.\nRUN npm run build$/m);
  });
});

describe("developmentPackages", () => {
  const lock = {
    packages: { "node_modules/pino": {}, "node_modules/tsx": { dev: true }, "node_modules/a/node_modules/@b/c": {} },
  };
  const used = (...paths: string[]) => developmentPackages(packageFolders(paths), lock);

  it("accepts own files and production packages of the lock file", () => {
    expect(used("src/main.ts", "node_modules/pino/lib/a.js", "node_modules/a/node_modules/@b/c/d.js")).toEqual([]);
  });

  it("lists development packages, and packages that are not in the lock file", () => {
    expect(used("node_modules/tsx/a.js", "node_modules/tsx/b.js", "node_modules/@b/c/d.js")).toEqual([
      "node_modules/@b/c",
      "node_modules/tsx",
    ]);
  });
});
