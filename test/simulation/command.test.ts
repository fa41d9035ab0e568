import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { run } from "./command";
import { coverageOf } from "./coverage";
import { failed } from "./results";

let said: string;

beforeEach(() => {
  said = "";
  const hear = (text: unknown): boolean => (said += `${String(text)}\n`) !== "";
  vi.spyOn(process.stderr, "write").mockImplementation(hear);
  vi.spyOn(console, "log").mockImplementation(hear);
});

afterEach(() => void vi.restoreAllMocks());

describe("bad input is named with what was expected", () => {
  it.each([
    [["--world", "tiny"], "Allowed choices are small, medium, wide, bad-day"],
    [["--seed", "seven"], 'expected a whole number of at least 0, got "seven"'],
    [["--seeds", "0"], 'expected a whole number of at least 1, got "0"'],
    [["--hours", "100"], 'expected a number of hours up to 48, got "100"'],
    [["--plan", "/no/such.json"], "/no/such.json: expected a file with a world, got none"],
    [["--tables", "/no/such.jsonl"], "expected a file of --record"],
    [["--mutate", "no-such"], "expected a part of a name in test/simulation/mutations.ts, got no-such"],
  ])("%j", async (args, sentence) => {
    vi.spyOn(console, "error").mockImplementation((text: unknown) => void (said += String(text)));
    expect(await run(args)).toBe(1);
    expect(said).toContain(sentence);
  });
});

describe("a mistake in the file of a world", () => {
  const world = {
    ...{ seed: 1, lastsMs: 1_000, servers: 1, operators: [0], nodes: 1, objects: [], bindings: [] },
    workloads: [{ namespace: "team", name: "app", kind: "Deployment", program: "kopf" }],
    happenings: [{ atMs: 1, what: "roll-out", on: "team/app" }],
  };

  it.each([
    [{ nodes: "three" }, 'plan.nodes: expected type number, got "three"'],
    [{ nodse: 1 }, "plan.nodse: unknown field, expected one of seed, lastsMs, servers, operators, nodes, workloads,"],
    [
      { workloads: [{ ...world.workloads[0], program: "kofp" }] },
      "plan.workloads[0].program: expected one of client-go-old",
    ],
    [{ workloads: [{ ...world.workloads[0], replica: 1 }] }, "plan.workloads[0].replica: unknown field"],
    [{ happenings: [{ atMs: 1, what: "rol-out" }] }, 'got "rol-out"'],
    [
      { happenings: [{ atMs: 1, what: "roll-out" }] },
      "plan.happenings[0]: expected the field on, the workload that roll-out happens to",
    ],
    [{ objects: {} }, "plan.objects: expected type array, got {}"],
    [{ seed: undefined }, "plan: expected the field seed"],
  ])("%j is named", async (mistake, sentence) => {
    await withFile(JSON.stringify({ ...world, ...mistake }), async file => {
      expect(await run(["--plan", file])).toBe(1);
      expect(said).toContain(`${file}: `);
      expect(said).toContain(sentence);
    });
  });

  it("such as neither YAML nor JSON is named", async () => {
    await withFile("{", async file => {
      expect(await run(["--plan", file])).toBe(1);
      expect(said).toContain(`${file}: expected YAML or JSON`);
    });
  });

  it("is needed: the same file without one runs", async () => {
    await withFile(JSON.stringify(world), async file => {
      expect(await run(["--plan", file, "--trace"])).toBe(0);
      expect(said).toContain("Someone rolls team/app out again.");
    });
  });
});

it("prints a recorded run as the documents have it", async () => {
  const heals = [1, 2, 9].map(seconds => ({ cause: "hangs", ms: 1_000 * seconds }));
  const small = { ...failed(1, 7_200_000, "broken"), world: "small", right: 3, heals };
  await withFile(`${JSON.stringify(small)}\n${JSON.stringify({ ...small, world: "wide" })}\n`, async file => {
    expect(await run(["--tables", file])).toBe(0);
  });
  expect(said).toContain("- Worlds: 1 small, 0 medium, 1 wide, 0 bad-day; hours: 4");
  expect(said).toContain("- Evictions of pods that a restart heals: 6; of others, for a trial or without proof: 0");
  expect(said).toContain("- Healed, by an eviction or otherwise (median, 99 of 100): hangs 6 (2 s, 9 s)");
});

it("prints what it has when it is interrupted", async () => {
  const running = run(["--seeds", "50", "--jobs", "1", "--hours", "0.01", "--no-shrink"]);
  process.emit("SIGINT");
  await running;
  expect(said).toContain("Interrupted after 1 of 50 worlds.");
  expect(said).toContain("- Worlds: 1 small, 0 medium");
});

describe("coverage", () => {
  it("names what never occurred, but for what cannot", () => {
    const { text, missing } = coverageOf([failed(1, 1, "")], true);
    expect(text).toContain("Programs: 0 of 32");
    expect(missing).toEqual(
      expect.arrayContaining(["happening roll-out", "fault 410", "program kopf", "reason Rejected"]),
    );
    expect(missing).not.toContain("reason DecideFailed");
  });
});

async function withFile(text: string, use: (file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "plan-"));
  try {
    writeFileSync(join(folder, "world.json"), text);
    await use(join(folder, "world.json"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
