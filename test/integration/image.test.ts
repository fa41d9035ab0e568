import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { beforeAll, expect, it } from "vitest";
import { ALLOWED_LICENSES, packageFolders } from "../../scripts/release/packages";
import { ensureBuilt, operatorStage } from "../controllers/operator-image";
import { schemaViolations } from "../release/schema";

const root = join(__dirname, "..", "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Component {
  readonly purl?: string;
  readonly type: string;
  readonly version: string;
  readonly licenses?: readonly { readonly license: { readonly id: string } }[];
}

let components: readonly Component[];

beforeAll(async () => {
  await ensureBuilt();
  const bill = JSON.parse(read("dist/image/sbom.cdx.json")) as { components: Component[] };
  expect(schemaViolations(bill)).toEqual([]);
  components = bill.components;
});

/** The packages in a bundle made at once from the sources, without `pepr build`, according to its source map. */
async function packagesFromSources(): Promise<string[]> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["src/cli/start.ts"],
    outfile: "dist/operator.js",
    bundle: true,
    minify: true,
    write: false,
    sourcemap: "external",
    sourcesContent: false,
    platform: "node",
    target: "node24",
    // Pepr's web server is left out, with all that it alone needs.
    external: ["pino-pretty", "express"],
    logLevel: "error",
  });
  const map = outputFiles.find(({ path }) => path.endsWith(".map"))?.text ?? "{}";
  const { sources } = JSON.parse(map) as { sources: string[] };
  const folders = packageFolders(sources.map(source => source.replace(/^\.\.\//, "")));
  const names = folders.map(
    folder => JSON.parse(read(join(folder, "package.json"))) as { name: string; version: string },
  );
  return [...new Set(names.map(({ name, version }) => `pkg:npm/${name.replace("@", "%40")}@${version}`))].sort();
}

it("lists every bundled package and no other in the bill of materials", async () => {
  const listed = components.flatMap(({ type, purl }) => (type === "library" && purl !== undefined ? [purl] : []));
  expect(listed.sort()).toEqual(await packagesFromSources());
  expect(listed.length).toBeGreaterThan(50);
});

it("lists the Node.js of the Dockerfile, and its base image without packages of its own", () => {
  const others = components.filter(({ type }) => type !== "library").map(({ type, version }) => [type, version]);
  expect(others).toEqual([
    ["container", "nonroot"],
    ["application", operatorStage().args["NODE_VERSION"]],
  ]);
});

it("contains only packages with an allowed license, and the text of each", () => {
  const text = read("dist/image/THIRD-PARTY-NOTICES.txt");
  for (const { type, purl = "", licenses = [] } of components) {
    if (type !== "library") continue;
    expect(ALLOWED_LICENSES).toContain(licenses[0]?.license.id);
    expect(text).toContain(`\n${purl.replace("pkg:npm/", "").replace("%40", "@")}: `);
  }
});
