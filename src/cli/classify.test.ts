import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const root = join(__dirname, "../..");

/** Runs the command as `npm run -s classify` does. */
function run(input: string, ...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const command = ["--import", "tsx", join(root, "src/cli/classify.ts"), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, input, encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("npm run classify", { timeout: 60_000 }, () => {
  it("prints the class before each record that has one, and further lines under the first", () => {
    const { status, stdout } = run(
      'all is well\nlevel=fatal msg=Unauthorized\n{\n  "error": "leader election lost"\n}\n',
    );
    expect(stdout.split("\n")).toEqual([
      "unauthorized  level=fatal msg=Unauthorized",
      "lease-lost    {",
      '                "error": "leader election lost"',
      "              }",
      "",
    ]);
    expect(status).toBe(0);
  });

  it("answers every line of JSON, and names the lines that it cannot read", () => {
    const lines = [
      '{"id":1,"line":"x: Unauthorized"}',
      "nonsense",
      '{"id":"b","line":"fine\\nstill fine"}',
      '{"id":3}',
      "[]",
    ];
    const { status, stdout, stderr } = run(lines.join("\n"), "--json");
    expect(stdout).toBe('{"id":1,"class":"unauthorized"}\n{"id":"b","class":"none"}\n');
    expect(stderr).toMatch(/^line 2: not JSON .*\nline 4: has no "line".*\nline 5: not an object.*\n$/);
    expect(status).toBe(1);
  });

  it("explains itself", () => {
    expect(run("", "--help").stdout).toContain("--json");
  });
});
