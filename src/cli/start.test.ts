import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleEntry } from "../../test/operator/bundle";

const root = join(__dirname, "..", "..");
const page = readFileSync(join(root, "docs", "settings.md"), "utf8");

const home = mkdtempSync(join(tmpdir(), "start-"));
const here = { KUBECONFIG: join(home, "config") };
let program: string;

beforeAll(async () => {
  program = await bundleEntry(home);
  const cluster = { server: "https://127.0.0.1:1" };
  const config = {
    clusters: [{ name: "c", cluster }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user: {} }],
    "current-context": "c",
  };
  writeFileSync(join(home, "config"), JSON.stringify(config));
});

afterAll(() => rmSync(home, { recursive: true }));

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the operator's command line, which exits by itself. Bundled, it starts several times faster than its sources. */
function run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const options = { cwd: root, env: { PATH: process.env["PATH"], HOME: home, ...env } };
  return new Promise(resolve => {
    const child = execFile(process.execPath, [program, ...args], options, (_error, stdout, stderr) =>
      resolve({ status: child.exitCode ?? 128, stdout, stderr }),
    );
  });
}

describe("the operator's command line", () => {
  it("has the flags, variables and defaults of docs/settings.md", async () => {
    const { status, stdout } = await run(["--help"]);
    expect(status).toBe(0);
    const flags = stdout.split(/\n {2}(?=-)/).filter(text => text.startsWith("--"));
    const [list = ""] = page.split("\n## ");
    const rows = list.split(/\n(?=- `--)/).slice(1);
    expect(flags.map(text => text.split(" ")[0])).toEqual(rows.map(row => row.split("`")[1]));
    for (const [i, text] of flags.entries()) {
      expect(rows[i]).toContain(/\b[A-Z]+_[A-Z_]+\b/.exec(text)?.[0]);
      expect(rows[i]).toContain(/default: "(.+?)"/.exec(text)?.[1] ?? "");
    }
  });

  it.each<[string, readonly string[], Readonly<Record<string, string>>, string | RegExp]>([
    [
      "an invalid port",
      ["--health-port", "http"],
      here,
      'RESILIENCE_HEALTH_PORT: found "http", expected a whole number',
    ],
    ["an unknown log level", ["--log-level", "loud"], here, "Allowed choices are debug, info, warn, error"],
    ["an unknown flag", ["--loud"], here, "unknown option '--loud'"],
    [
      "wrong settings, also without a cluster",
      ["--log-reads", "0"],
      {},
      /^RESILIENCE_LOG_READS_PER_SECOND: found "0", expected .* from 1 to 1000/,
    ],
    ["a missing cluster", [], {}, "found no cluster; expected a kubeconfig"],
    ["a missing kubeconfig", [], { KUBECONFIG: "/nonexistent" }, "failed to read the kubeconfig (ENOENT)"],
  ])("exits with 2 and one sentence for %s", async (_what, args, env, words) => {
    const { status, stderr } = await run(args, env);
    expect([status, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toMatch(words);
  });
});
