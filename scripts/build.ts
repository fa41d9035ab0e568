// `npm run build`: builds the Pepr module and bundles it for the image; bundles the kubectl plugin.
// `pepr build` exits 0 even after a failure, so this script checks its output.
import { spawnSync } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import cfg from "../package.json";
import { bundleOperator, IMAGE_FOLDER } from "./bundle";
import { bundleCli } from "./bundle-cli";

const root = join(__dirname, "..");
const dist = join(root, "dist");
const module = `pepr-${cfg.pepr.uuid}.js`;
const expected = [module, `pepr-module-${cfg.pepr.uuid}.yaml`];

/** Runs `pepr build`; throws if an output is missing. */
function buildModule(): void {
  rmSync(dist, { recursive: true, force: true });
  const env = { ...process.env, CONTROLLER_RESILIENCE_BUILD: "1" };
  const build = spawnSync(join(root, "node_modules", ".bin", "pepr"), ["build"], { cwd: root, stdio: "inherit", env });
  const missing = expected.filter(name => {
    const stat = statSync(join(dist, name), { throwIfNoEntry: false });
    return stat === undefined || stat.size === 0;
  });
  if (build.status === 0 && missing.length === 0) return;
  throw new Error(
    `pepr build failed (exit ${build.status}): expected ${expected.join(", ")} in dist/, missing ${missing.join(", ") || "none"}`,
  );
}

async function main(): Promise<void> {
  buildModule();
  await bundleOperator(join(dist, module));
  await bundleCli();
  const { size } = statSync(join(IMAGE_FOLDER, "operator.js"));
  console.log(
    `Built dist/${expected.join(", dist/")} dist/kubectl-resilience/ and dist/image/ (${(size / 1e6).toFixed(1)} MB).`,
  );
}

void main().catch((error: unknown) => {
  // The lab takes a complete folder for a build that succeeded.
  rmSync(IMAGE_FOLDER, { recursive: true, force: true });
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
