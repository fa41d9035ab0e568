import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { createDetector, LogText, loadSpec } from "./log-text";
import { CliError } from "../streams";
import { answer, parseQuestion, type Answer, describeReplay } from "./command";

const KLOG = 'E1120 13:47:14.474533 1 reflector.go:227] "Failed to watch" err="failed to list *v1.Pod: Unauthorized"';
const PYTHON = "kubernetes.client.exceptions.ApiException: (401)\nReason: Unauthorized";
const folder = mkdtempSync(join(tmpdir(), "replay-"));
afterAll(() => rmSync(folder, { recursive: true }));

function specOf(content: string): ReturnType<typeof loadSpec> {
  const path = join(folder, "spec.yaml");
  writeFileSync(path, content);
  return loadSpec(path);
}

function ask(records: object[], spec = loadSpec(undefined)): Answer {
  const question = parseQuestion(JSON.stringify({ id: "q", records }));
  if (typeof question === "string") throw new Error(question);
  return answer(question, createDetector(spec));
}

describe("--json", () => {
  it("answers with the time of the record on which tokenRestart would have acted", () => {
    const records = [0, 25_000, 50_000, 75_000, 100_000].map(t_ms => ({ t_ms, line: KLOG }));
    expect(ask(records)).toEqual({ id: "q", persistent: true, at_ms: 75_000 });
  });

  it("counts occasions across lives, and a record of several lines once", () => {
    const records = [1, 2, 3].map(life => ({ t_ms: life * 340_000, line: PYTHON, life }));
    expect(ask(records)).toEqual({ id: "q", persistent: true, at_ms: 1_020_000 });
  });

  it("answers null when tokenRestart would not have acted", () => {
    const records = [{ t_ms: 0, line: KLOG }, ...[5, 65, 125].map(s => ({ t_ms: s * 1000, line: "all is well" }))];
    expect(ask(records)).toEqual({ id: "q", persistent: false, at_ms: null });
    expect(ask([])).toMatchObject({ persistent: false });
  });

  it("follows the spec, also when logs are no evidence", () => {
    const records = [0, 6_000, 12_000].map(t_ms => ({ t_ms, line: "TOKEN IS DEAD" }));
    const spec = specOf('tokenRestart: {minDuration: 10s, extraPhrases: ["token is dead"]}');
    expect(ask(records, spec)).toMatchObject({ at_ms: 12_000 });
    expect(ask(records, { ...spec, evidence: ["ServiceAccountAge"] })).toMatchObject({ at_ms: null });
  });

  it.each([
    ["{", "not JSON"],
    ["[]", "not an object"],
    ['{"records":[]}', 'no "id"'],
    ['{"id":1}', 'no "records"'],
    ['{"id":1,"records":[{"line":""}]}', 'records[0] has no "t_ms"'],
    ['{"id":1,"records":[{"t_ms":1}]}', 'records[0] has no "line"'],
    ['{"id":1,"records":[{"t_ms":1,"line":"","life":0}]}', 'a "life"'],
  ])("reports what is wrong with %s", (text, error) => expect(parseQuestion(text)).toContain(error));
});

describe("a log as text", () => {
  const lines = Array.from({ length: 100 }, (_, s) => {
    const stamp = new Date(Date.UTC(2025, 0, 1) + s * 1000).toISOString();
    return s % 20 === 10 ? `${stamp} ${PYTHON.replace("\n", `\n${stamp} `)}\n` : `${stamp} all is well\n`;
  });
  const bytes = Buffer.from(lines.join(""));

  it("gives the same result wherever it is cut", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 20 }), cuts => {
        const log = new LogText(createDetector(loadSpec(undefined)));
        const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        places.slice(1).forEach((to, i) => log.push(bytes.subarray(places[i], to)));
        log.end();
        expect(log.replay.action?.atMs).toBe(Date.UTC(2025, 0, 1, 0, 1, 10));
        expect(log.lines).toBe(105);
      }),
    );
  });

  it("is described in a few lines", () => {
    const log = new LogText(createDetector(loadSpec(undefined)));
    log.push(bytes);
    log.end();
    expect(describeReplay(log)[0]).toContain("would have acted at 2025-01-01T00:01:10.000Z.");
  });

  it("takes an endless line in parts, so that memory stays bounded", () => {
    const log = new LogText(createDetector(loadSpec(undefined)));
    for (let i = 0; i < 160; i++) log.push(Buffer.alloc(64 * 1024, "x"));
    expect(log.lines).toBeGreaterThanOrEqual(2);
  });
});

describe("--spec", () => {
  it("takes its defaults from the CRD", () => {
    expect(loadSpec(undefined)).toMatchObject({ minDuration: "60s", maxRestarts: 3 });
  });

  it("finds a ControllerResilience among other documents", () => {
    const spec = specOf(
      "kind: ConfigMap\n---\nkind: ControllerResilience\nspec: {targets: [], tokenRestart: {maxRestarts: 5}}\n",
    );
    expect(spec.maxRestarts).toBe(5);
  });

  it("fills in the default for null", () => {
    expect(specOf("{minDuration: null}").minDuration).toBe("60s");
  });

  it.each([
    ["maxRestarts: 0", "spec.tokenRestart.maxRestarts: expected 1 or more, got 0"],
    ["maxRestarts: many", 'spec.tokenRestart.maxRestarts: expected a whole number, got "many"'],
    [
      "minDuration: 1s",
      'spec.tokenRestart.minDuration: expected a duration between 10s and 10m, such as 90s or 5m, got "1s"',
    ],
    ["evidence: [Logs, Logs]", "spec.tokenRestart.evidence: expected no duplicates"],
    [
      "evidence: [Tea]",
      'spec.tokenRestart.evidence[0]: expected one of Logs, ServiceAccountAge, SandboxEvents, got "Tea"',
    ],
    ["{kind: ControllerResilience, spec: {targets: []}}", "no tokenRestart block"],
    [
      "a: 1\nb: [",
      /^\S+: expected YAML or JSON, got an error in line 2, column 5: Flow sequence [^\n]* end with a \]$/,
    ],
    ["- 1", "expected a ControllerResilience or a tokenRestart block"],
  ])("rejects %s", (content, error) => expect(() => specOf(content)).toThrow(error));

  it("rejects a missing file", () => {
    expect(() => loadSpec(join(folder, "none"))).toThrow(CliError);
  });
});
