// `pepr build` exits 0 even when it failed, so this looks whether it has made what it should.
import { spawnSync } from "node:child_process";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import cfg from "../package.json";

const root = join(__dirname, "..");
const dist = join(root, "dist");
const expected = [`pepr-${cfg.pepr.uuid}.js`, `pepr-module-${cfg.pepr.uuid}.yaml`];

rmSync(dist, { recursive: true, force: true });
const build = spawnSync(join(root, "node_modules", ".bin", "pepr"), ["build"], { cwd: root, stdio: "inherit" });
const missing = expected.filter(name => {
  const stat = statSync(join(dist, name), { throwIfNoEntry: false });
  return stat === undefined || stat.size === 0;
});
if (build.status !== 0 || missing.length > 0) {
  console.error(
    `pepr build failed (exit ${build.status}): expected in dist/ and did not find: ${missing.join(", ") || "nothing missing"}`,
  );
  process.exitCode = 1;
} else {
  console.log(`Built dist/${expected.join(" and dist/")}.`);
}
