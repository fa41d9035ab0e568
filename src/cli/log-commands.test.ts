import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleCli } from "../../scripts/bundle-cli";

const root = join(__dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "classify-"));
beforeAll(() => bundleCli(join(folder, "package")));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a log file with one line per entry, 20 s apart. */
function logFile(...entries: string[]): string {
  const path = join(folder, "web.log");
  const stamp = (i: number): string => new Date(Date.UTC(2025, 0, 1) + i * 20_000).toISOString();
  writeFileSync(path, entries.map((entry, i) => `${stamp(i)} ${entry}\n`).join(""));
  return path;
}

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the bundled plugin, which starts ten times faster than its sources. */
function run(input: string, ...args: string[]): Ended {
  return execute(input, join(folder, "package", "kubectl-resilience.js"), ...args);
}

/** Runs the command as `npm run -s` does. */
function runSource(command: "classify" | "replay", ...args: string[]): Ended {
  return execute("", "--import", "tsx", join(root, "src/cli/log-command.ts"), command, ...args);
}

function execute(input: string, ...args: string[]): Ended {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, input, encoding: "utf8" });
  return { status, stdout, stderr };
}

describe("classify", () => {
  it("prints the class before each record that has one, and further lines under the first", () => {
    const { status, stdout } = run(
      'all is well\nlevel=fatal msg=Unauthorized\n{\n  "error": "leader election lost"\n}\n',
      "classify",
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
    const { stdout } = run(
      '\u001b[31mlevel=fatal msg=Unauthorized\u001b[0m title="\u001b]0;x\u0007\u009b2J"\n',
      "classify",
    );
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
    const { status, stdout, stderr } = run(lines.join("\n"), "classify", "--json");
    expect(stdout).toBe('{"id":1,"class":"unauthorized"}\n{"id":"b","class":"none"}\n');
    expect(stderr).toMatch(/^line 2: not JSON .*\nline 4: has no "line".*\nline 5: not an object.*\n$/);
    expect(status).toBe(1);
  });

  it("obeys neither a name of a file nor a line that it cannot read", () => {
    const path = join(folder, "\u001b[2J.log");
    writeFileSync(path, "x: Unauthorized\n");
    for (const { stdout, stderr } of [
      run("", "classify", path),
      run('{"id":1,"line":x\u001b[2J}', "classify", "--json"),
    ])
      expect(stdout + stderr).toMatch(/^(?!.*\u001b).* \[2J/);
  });

  it("summarizes a file with persistent 401s", () => {
    const denied = "failed to list *v1.Pod: Unauthorized";
    const { status, stdout } = run(
      "",
      "classify",
      logFile("all is well", denied, denied, denied, denied, "leader election lost"),
    );
    expect(stdout).toContain("6 lines, 2025-01-01T00:00:00.000Z to 2025-01-01T00:01:40.000Z");
    expect(stdout).toContain("RESULT  tokenRestart would have acted at 2025-01-01T00:01:20.000Z.");
    expect(stdout).toContain(
      "        Found 4 occasions of 401 over 1m. Required: 3 occasions within 15m, spread over 1m",
    );
    expect(stdout.split("\n\n")).toContain(
      [
        "CLASS         RECORDS  FIRST                     LAST",
        "unauthorized  4        2025-01-01T00:00:20.000Z  2025-01-01T00:01:20.000Z",
        "lease-lost    1        2025-01-01T00:01:40.000Z  2025-01-01T00:01:40.000Z",
      ].join("\n"),
    );
    expect(status).toBe(0);
  });

  it("prints what README.md shows", () => {
    const [shown = ""] = run("", "classify", "docs/examples/rejected-token.txt").stdout.split("\n\nCLASS");
    expect(readFileSync(join(root, "README.md"), "utf8")).toContain(`\`\`\`text\n${shown}\n...\n\`\`\``);
  });

  it("summarizes a file with 401s that are not persistent, and one without any", () => {
    const denied = "failed to list *v1.Pod: Unauthorized";
    const two = run("", "classify", logFile(denied, denied, "all is well")).stdout;
    expect(two).toContain(
      "RESULT  tokenRestart would not have acted.\n        Found 2 occasions of 401 over 20s in 3 lines",
    );
    expect(two).toContain("NEXT    No action required if they have ended.");
    const fine = run("", "classify", logFile("all is well")).stdout;
    expect(fine).toContain("web.log: 1 line, 2025");
    expect(fine).toContain("RESULT  Found no problem");
    expect(run("", "classify", logFile()).stdout).toContain("RESULT  The file is empty.");
  });

  it("quotes the line that shows the class, and says when the timestamps of kubectl are missing", () => {
    const path = join(folder, "python.log");
    const trace = ["Traceback (most recent call last):", '  File "main.py", line 1, in <module>', "    list_pods()"];
    const error = "kubernetes.client.exceptions.ApiException: (401)";
    writeFileSync(
      path,
      ["2025-01-01 00:00:00,123 INFO starting", ...trace, error, "Reason: Unauthorized", ""].join("\n"),
    );
    const { stdout } = run("", "classify", path);
    expect(stdout).toContain("6 lines, without timestamps of kubectl");
    expect(stdout).toContain("RESULT  Found 1 record with a 401. Without the timestamps of kubectl it is unknown");
    writeFileSync(path, "E0301 09:12:44.113201 1 reflector.go:147] failed to list *v1.Pod: Unauthorized\n".repeat(3));
    expect(run("", "classify", path).stdout).toContain(
      "RESULT  Found 3 records with a 401. Without the timestamps of kubectl it",
    );
    expect(stdout).toContain(`first    ${error}\n`);
  });

  it.each(["classify", "replay"] as const)("fails when the file can't be read, as %s does", command => {
    const { status, stderr } = runSource(command, join(folder, "none"));
    expect(stderr).toMatch(/^failed to read .*none: ENOENT/);
    expect(status).toBe(1);
  });
});

const LOG = [0, 20, 40, 60]
  .map(s => `${new Date(Date.UTC(2025, 0, 1, 0, 0, s)).toISOString()} failed to list *v1.Pod: Unauthorized\n`)
  .join("");

it("classify --json reads a file, and prints no character that a terminal would obey", () => {
  const file = join(folder, "questions.jsonl");
  writeFileSync(file, '{"id":"\u009b\u{e0001}","line":"x: Unauthorized"}\n');
  const { stdout } = run("", "classify", "--json", file);
  expect(stdout).toBe('{"id":"\\u009b\\udb40\\udc01","class":"unauthorized"}\n');
  expect(JSON.parse(stdout)).toMatchObject({ id: "\u009b\u{e0001}" });
});

it("a full disk is named in one sentence", () => {
  const file = join(folder, "web.log");
  writeFileSync(file, LOG);
  const program = join(folder, "package", "kubectl-resilience.js");
  const { status, stderr } = spawnSync(
    "sh",
    ["-c", `"$0" "$@" >/dev/full`, process.execPath, program, "classify", file],
    {
      encoding: "utf8",
    },
  );
  expect([status, stderr]).toEqual([1, "failed to write to standard output: ENOSPC: no space left on device, write\n"]);
});

describe("replay", () => {
  it("reads a file as it reads standard input", () => {
    const file = join(folder, "web.log");
    writeFileSync(file, LOG);
    const { status, stdout } = run("", "replay", file);
    expect(stdout).toContain("tokenRestart would have acted at 2025-01-01T00:01:00.000Z.");
    expect(status).toBe(0);
    expect(run(LOG, "replay").stdout).toBe(stdout);
  });

  it("expects lines that start with a timestamp", () => {
    const { status, stderr } = run("Unauthorized\n", "replay");
    expect(stderr).toBe("no line starts with a timestamp; expected the output of kubectl logs --timestamps\n");
    expect(status).toBe(1);
  });
});
