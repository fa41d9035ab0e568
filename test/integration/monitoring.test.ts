import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { anchors } from "../docs/links";
import { helmProgram } from "../lab/helm";
import { ensurePrometheus, promtool } from "../lab/prometheus";
import { filledIn, panels } from "../monitoring/dashboard";
import { exampleConfig } from "../monitoring/prometheus-config";
import { fill, makeMetrics } from "../monitoring/samples";
import { type RuleGroups, renderRules, rulesIn } from "../monitoring/rules";

// What Prometheus itself says of the metrics and rules. This needs no cluster.

const root = join(__dirname, "..", "..");
const TESTS = ["alerts.yaml", "alerts-of-days.yaml"];

const folder = mkdtempSync(join(tmpdir(), "monitoring-"));
let groups: RuleGroups;

beforeAll(async () => {
  await ensurePrometheus();
  await helmProgram();
  groups = await renderRules();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the metrics", () => {
  it("pass promtool, with samples in every one", async () => {
    const metrics = makeMetrics();
    fill(metrics);
    const text = await metrics.text();
    const sampled = new Set([...text.matchAll(/^([a-z_]+)(?:\{.*\})? \S+$/gm)].map(([, name = ""]) => name));
    const own = metrics.families().filter(({ name }) => !/^(process|nodejs)_/.test(name));
    const without = own.filter(({ name, type }) => !sampled.has(type === "histogram" ? `${name}_count` : name));
    expect(without.map(({ name }) => name)).toEqual([]);
    expect(own.length).toBeGreaterThan(30);
    expect(await promtool(["check", "metrics"], text)).toEqual({ code: 0, stdout: "", stderr: "" });
  });
});

describe("the alerts", () => {
  it("are valid as rendered, and as a file of Prometheus' own", async () => {
    const rendered = join(folder, "rendered.yaml");
    writeFileSync(rendered, stringify(groups));
    for (const file of [rendered, join(root, "deploy/chart/files/alerts.yaml")]) {
      expect(await promtool(["check", "rules", "--lint-fatal", file])).toMatchObject({ code: 0, stderr: "" });
    }
  });

  it("fire and stay quiet as their tests say", async () => {
    // The tests know the summaries; other texts may change freely.
    const summaries = structuredClone(groups);
    for (const rule of rulesIn(summaries)) rule.annotations = { summary: rule.annotations.summary };
    writeFileSync(join(folder, "rules.yaml"), stringify(summaries));
    for (const file of TESTS) cpSync(join(root, "test/monitoring", file), join(folder, file));
    const { code, stdout, stderr } = await promtool(["test", "rules", ...TESTS.map(file => join(folder, file))]);
    expect([code, stderr], stdout + stderr).toEqual([0, ""]);
  });

  it("say which hook recreates a ServiceAccount, and go on firing when that becomes known", async () => {
    const described = structuredClone(groups);
    for (const { annotations } of rulesIn(described)) delete annotations.runbook_url;
    writeFileSync(join(folder, "rules.yaml"), stringify(described));
    const file = join(folder, "alert-causes.yaml");
    cpSync(join(root, "test/monitoring/alert-causes.yaml"), file);
    const { code, stdout, stderr } = await promtool(["test", "rules", file]);
    expect([code, stderr], stdout + stderr).toEqual([0, ""]);
  });

  it("each have a test in which they fire, and one in which they stay quiet", () => {
    const asked = TESTS.flatMap(file => {
      const text = readFileSync(join(root, "test/monitoring", file), "utf8");
      const { tests } = parse(text) as { tests: { alert_rule_test: { alertname: string; exp_alerts: object[] }[] }[] };
      return tests.flatMap(test => test.alert_rule_test);
    });
    const names = rulesIn(groups).map(({ alert }) => alert);
    expect(names.length).toBeGreaterThanOrEqual(10);
    for (const fires of [true, false]) {
      const tested = asked.filter(({ exp_alerts: alerts }) => alerts.length > 0 === fires).map(rule => rule.alertname);
      expect([...new Set(tested)].sort()).toEqual(names.toSorted());
    }
  });

  it("say in one line what is wrong, how bad it is, and where to read on", () => {
    const headings = anchors(readFileSync(join(root, "docs/observability.md"), "utf8"));
    for (const { alert, labels, annotations } of rulesIn(groups)) {
      expect(["critical", "warning", "info"]).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/^.{10,120}\.$/);
      expect(annotations.description, alert).toMatch(/^.{40,}\.$/);
      const [page, anchor] = (annotations.runbook_url ?? "").split("#");
      expect([page, anchor]).toEqual(["docs/observability.md", alert.toLowerCase()]);
      expect(headings).toContain(anchor);
    }
  });

  it("link to the runbook below the configured address", async () => {
    const base = "https://git.example.com/platform/";
    const linked = await renderRules(`monitoring.prometheusRule.runbookBaseUrl="${base}"`);
    for (const { annotations } of rulesIn(linked)) expect(annotations.runbook_url).toContain(`${base}docs/`);
  });
});

it("the queries of the dashboard are valid", async () => {
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => filledIn(expr)));
  const rules = queries.map((expr, i) => ({ record: `query:${i}`, expr }));
  const file = join(folder, "queries.yaml");
  writeFileSync(file, stringify({ groups: [{ name: "dashboard", rules }] }));
  expect(await promtool(["check", "rules", file])).toMatchObject({ code: 0, stderr: "" });
});

it("the example of a Prometheus without its operator is valid", async () => {
  cpSync(join(root, "deploy/chart/files/alerts.yaml"), join(folder, "alerts.yaml"));
  writeFileSync(join(folder, "prometheus.yaml"), stringify(exampleConfig("localhost:9440")));
  const { code, stderr } = await promtool(["check", "config", join(folder, "prometheus.yaml")]);
  expect([code, stderr]).toEqual([0, ""]);
});
