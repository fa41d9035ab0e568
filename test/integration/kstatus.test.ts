import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { ConditionType } from "../../src/api/conditions";
import type { StatusCondition } from "../../src/api/controller-resilience";
import type { Report } from "../../src/core/remedy";
import { conditionUpdates, deletionUpdates } from "../../src/engine/pass/ready";
import { healthFolder } from "../argocd/argo-cd";
import { ClusterClient } from "../cluster/client";
import { type Judgement, kstatus } from "../kstatus/kstatus";
import { silent } from "../lab/progress";
import { suiteLab } from "./suite-lab";

// What Flux, kpt and others see: kstatus itself judges objects with the conditions that the operator writes.

/** Long enough to build kstatus on a slow machine. */
const BUILD_MS = 600_000;
const GENERATION = 2;

let judge: (objects: readonly object[]) => Promise<Judgement[]>;

beforeAll(async () => {
  judge = await kstatus(silent);
}, BUILD_MS);

async function statusOf(object: object): Promise<string | undefined> {
  const [said] = await judge([object]);
  expect(said?.error).toBeUndefined();
  return said?.status;
}

/** An object that the operator has looked at. */
function looked(conditions: readonly Pick<StatusCondition, "type" | "status">[], metadata: object = {}): object {
  return {
    ...{ apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" },
    metadata: { name: "a", namespace: "a", generation: GENERATION, ...metadata },
    status: { observedGeneration: GENERATION, conditions },
  };
}

const report = (status: Report["status"], more: Partial<Report> = {}): Report =>
  ({ status, reason: "Any", message: "Any.", ...more }) as Report;
const stalled = { reason: "Any", message: "Act." };
const conditionsOf = (...reports: Report[]) =>
  conditionUpdates(
    reports.map(each => ({ condition: ConditionType.TokensAccepted, report: each })),
    { suspended: false, mode: "Enforce" },
  );

describe("an object", () => {
  it.each([
    ["whose remedies all hold", "Current", conditionsOf(report("True"))],
    ["that asks for nothing", "Current", conditionsOf()],
    ["whose remedy is at work", "InProgress", conditionsOf(report("False", { progressing: true }))],
    ["that holds while another write goes on", "InProgress", conditionsOf(report("True", { progressing: true }))],
    ["that needs a person", "Failed", conditionsOf(report("False", { stalled }))],
    ["that needs a person although Ready is True", "Failed", conditionsOf(report("True", { stalled }))],
    [
      "that needs a person while a remedy is at work",
      "Failed",
      conditionsOf(report("False", { progressing: true, stalled })),
    ],
    ["whose state is not known", "InProgress", conditionsOf(report("Unknown"))],
    ["whose remedy does not hold, and waits", "InProgress", conditionsOf(report("False"))],
    ["that is suspended", "InProgress", conditionUpdates([], { suspended: true, mode: "Enforce" })],
  ])("%s is %s", async (_, expected, conditions) => {
    expect(await statusOf(looked(conditions))).toBe(expected);
  });

  it.each([
    ["Terminating", { executions: [] }],
    ["Terminating", { executions: [], problem: "The binding is gone." }],
  ])("that is being deleted is %s", async (expected, leftovers) => {
    const deleted = { deletionTimestamp: "2025-01-01T00:00:00Z" };
    expect(await statusOf(looked(deletionUpdates(leftovers), deleted))).toBe(expected);
  });

  it("of a newer generation than the operator has seen is in progress, whatever its conditions say", async () => {
    expect(await statusOf(looked(conditionsOf(report("True")), { generation: GENERATION + 1 }))).toBe("InProgress");
  });
});

describe("an object that the operator has not seen yet", () => {
  const objects = [
    { kind: "ControllerResilience", namespace: "default", spec: { targets: [{ kind: "Deployment", name: "a" }] } },
    { kind: "ClusterControllerResilience", spec: { template: { tokenRestart: {} } } },
  ];

  it.each(objects)("is in progress: $kind", async ({ kind, namespace, spec }) => {
    const metadata = { name: "kstatus", namespace };
    const object = { apiVersion: "controller-resilience.io/v1alpha1", kind, metadata, spec };
    const how = ["create", "--dry-run=server", "-o", "json", "-f", "-"];
    const { stdout, stderr } = await ClusterClient.of(suiteLab()).kubectl(how, JSON.stringify(object));
    expect(stderr).toBe("");
    expect(await statusOf(JSON.parse(stdout) as object)).toBe("InProgress");
  });
});

it.each(["ControllerResilience", "ClusterControllerResilience"])(
  "agrees with Argo CD's health check about %s, as far as both have words for it",
  async kind => {
    const words: Readonly<Record<string, string>> = { Healthy: "Current", Progressing: "InProgress" };
    const folder = join(healthFolder(kind), "testdata");
    const files = readdirSync(folder);
    const said = await judge(files.map(file => parse(readFileSync(join(folder, file), "utf8")) as object));
    const told = files.map((file, i) => `${file}: ${said[i]?.status ?? said[i]?.error ?? ""}`);
    const wanted = files.map((file, i) => {
      const word = Object.entries(words).find(([health]) => file.startsWith(health.toLowerCase()))?.[1];
      return `${file}: ${word ?? said[i]?.status ?? ""}`;
    });
    expect(told).toEqual(wanted);
  },
);
