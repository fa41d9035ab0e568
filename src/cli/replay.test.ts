import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const root = join(__dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "replay-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LOG = [0, 20, 40, 60]
  .map(s => `${new Date(Date.UTC(2025, 0, 1, 0, 0, s)).toISOString()} failed to list *v1.Pod: Unauthorized\n`)
  .join("");

/** Runs the command as `npm run -s replay` does. */
function run(input: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const command = ["--import", "tsx", join(root, "src/cli/replay.ts"), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, input, encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("npm run replay", { timeout: 60_000 }, () => {
  it("reads a file as it reads standard input", () => {
    const file = join(folder, "web.log");
    writeFileSync(file, LOG);
    const { status, stdout } = run("", file);
    expect(stdout).toContain("tokenRestart would have acted at 2025-01-01T00:01:00.000Z (line 4).");
    expect(status).toBe(0);
    expect(run(LOG).stdout).toBe(stdout);
  });

  it("fails when the file can't be read", () => {
    const file = join(folder, "none");
    const { status, stderr } = run("", file);
    expect(stderr).toContain(`failed to read ${file}: ENOENT`);
    expect(status).toBe(1);
  });

  it("expects lines that start with a timestamp", () => {
    const { status, stderr } = run("Unauthorized\n");
    expect(stderr).toBe("no line starts with a timestamp; expected the output of kubectl logs --timestamps\n");
    expect(status).toBe(1);
  });
});
