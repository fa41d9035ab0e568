import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const root = join(__dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "classify-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a log file with one line per entry, 20 s apart. */
function logFile(...entries: string[]): string {
  const path = join(folder, "web.log");
  const stamp = (i: number): string => new Date(Date.UTC(2025, 0, 1) + i * 20_000).toISOString();
  writeFileSync(path, entries.map((entry, i) => `${stamp(i)} ${entry}\n`).join(""));
  return path;
}

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

  it("prints no colours and other characters of the log that a terminal would obey", () => {
    const { stdout } = run('\u001b[31mlevel=fatal msg=Unauthorized\u001b[0m title="\u001b]0;x\u0007\u009b2J"\n');
    expect(stdout).toBe('unauthorized  level=fatal msg=Unauthorized title="]0;x  2J"\n');
  });

  it("answers every line of JSON and names the lines that it can't read", () => {
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

  it("explains its options and exit codes", () => {
    const { stdout } = run("", "--help");
    expect(stdout).toContain("--json");
    expect(stdout).toContain("Exit codes:");
  });

  it("summarizes a file with persistent 401s", () => {
    const denied = "failed to list *v1.Pod: Unauthorized";
    const { status, stdout } = run("", logFile("all is well", denied, denied, denied, denied, "leader election lost"));
    expect(stdout).toContain("6 lines, 2025-01-01T00:00:00.000Z to 2025-01-01T00:01:40.000Z");
    expect(stdout).toContain("RESULT  Found persistent 401s: 4 occasions in 1m, since 2025-01-01T00:00:20.000Z.");
    expect(stdout).toContain("would have acted at 2025-01-01T00:01:20.000Z (line 5)");
    expect(stdout).toMatch(/^unauthorized +4 +2025-01-01T00:00:20.000Z +2025-01-01T00:01:20.000Z$/m);
    expect(stdout).toMatch(/^lease-lost +1 +2025-01-01T00:01:40.000Z/m);
    expect(status).toBe(0);
  });

  it("summarizes a file with 401s that are not persistent, and one without any", () => {
    const denied = "failed to list *v1.Pod: Unauthorized";
    const two = run("", logFile(denied, denied, "all is well")).stdout;
    expect(two).toContain(
      "RESULT  Found 401s, but not persistent: 2 occasions in 20s, since 2025-01-01T00:00:00.000Z.",
    );
    const one = run("", logFile(denied, "all is well")).stdout;
    expect(one).toContain(
      "RESULT  Found one 401, at 2025-01-01T00:00:00.000Z. One is not persistent: tokenRestart acts from 3 occasions on.\n" +
        "NEXT    No action required if it was the last.",
    );
    const fine = run("", logFile("all is well")).stdout;
    expect(fine).toContain("web.log: 1 line, 2025");
    expect(fine).toContain("RESULT  Found no problem");
    expect(run("", logFile()).stdout).toContain("RESULT  The file is empty.");
  });

  it("quotes the line that shows the class, and says when the timestamps of kubectl are missing", () => {
    const path = join(folder, "python.log");
    const trace = ["Traceback (most recent call last):", '  File "main.py", line 1, in <module>', "    list_pods()"];
    const error = "kubernetes.client.exceptions.ApiException: (401)";
    writeFileSync(
      path,
      ["2025-01-01 00:00:00,123 INFO starting", ...trace, error, "Reason: Unauthorized", ""].join("\n"),
    );
    const { stdout } = run("", path);
    expect(stdout).toContain("6 lines, without timestamps of kubectl");
    expect(stdout).toContain("RESULT  Found one record with a 401. Without the timestamps of kubectl it is unknown");
    writeFileSync(path, "E0301 09:12:44.113201 1 reflector.go:147] failed to list *v1.Pod: Unauthorized\n".repeat(3));
    expect(run("", path).stdout).toContain("RESULT  Found 3 records with a 401. Without the timestamps of kubectl it");
    expect(stdout).toContain(`first    ${error}\n`);
  });

  it("fails when the file can't be read", () => {
    const { status, stderr } = run("", join(folder, "none"));
    expect(stderr).toMatch(/^failed to read .*none: ENOENT/);
    expect(status).toBe(1);
  });
});
