import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleEntry } from "../../test/operator/bundle";

const root = join(__dirname, "..", "..");
const page = readFileSync(join(root, "docs", "settings.md"), "utf8");

let home: string;
let program: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "start-"));
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

describe("the operator's command line", { timeout: 120_000 }, () => {
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

  it.each([
    ["an invalid port", ["--health-port", "http"], 'RESILIENCE_HEALTH_PORT: found "http", expected a whole number'],
    ["an unknown log level", ["--log-level", "loud"], "Allowed choices are debug, info, warn, error"],
    ["an unknown flag", ["--loud"], "unknown option '--loud'"],
  ])("exits with 2 and one sentence for %s", async (_what, args, words) => {
    const { status, stderr } = await run(args, { KUBECONFIG: join(home, "config") });
    expect([status, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain(words);
  });

  it("reports wrong settings first, also without a cluster", async () => {
    const { status, stderr } = await run(["--log-reads", "0"]);
    expect(status).toBe(2);
    expect(stderr.trim()).toMatch(/^RESILIENCE_LOG_READS_PER_SECOND: found "0", expected .* from 1 to 1000/);
  });

  it.each([
    ["a missing cluster", {}, "found no cluster; expected a kubeconfig"],
    ["a missing kubeconfig", { KUBECONFIG: "/nonexistent" }, "failed to read the kubeconfig (ENOENT)"],
  ])("exits with 2 and one sentence for %s", async (_what, env, words) => {
    const { status, stderr } = await run([], env as Record<string, string>);
    expect([status, stderr.trim().split("\n").length]).toEqual([2, 1]);
    expect(stderr).toContain(words);
  });
});
