import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import cfg from "../../package.json";

// The commands of the workflow, as npm runs them: a command that does nothing would publish nothing.

const root = join(__dirname, "../..");

function command(script: keyof typeof cfg.scripts, ...args: string[]): { status: number | null; output: string } {
  const [node = "", ...rest] = cfg.scripts[script].split(" ");
  const { status, stdout, stderr } = spawnSync(node, [...rest, ...args], { cwd: root, encoding: "utf8" });
  return { status, output: stdout + stderr };
}

it.each([
  ["release:check", ["--tag", "v0.0.0"], 1, `expected the tag v${cfg.version}`],
  ["release:check", [], 0, "\n.github/workflows/release.yaml:"],
  ["release:notes", [], 0, "\n- "],
  ["release:assets", ["--image", "a", "--digest", "latest", "--repository", "b"], 1, "expected a digest"],
] as const)("npm run %s %j ends with %d, and says %j", (script, args, status, text) => {
  const found = command(script, ...args);
  expect(found.output).toContain(text);
  expect(found.status).toBe(status);
});
