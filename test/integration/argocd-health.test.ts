import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { argoHealth, type Health, HEALTH_FOLDER, healthFolder, type Opinion } from "../argocd/argo-cd";
import { silent } from "../lab/progress";

// Runs the health check as Argo CD does: with Argo CD's own library, and without Lua's standard libraries.

interface HealthTest {
  readonly inputPath: string;
  readonly healthStatus: Health;
}

let ask: (objects: readonly object[]) => Promise<Opinion[]>;

/** The test data of Argo CD's layout: objects, and what it should say of each. */
function testsOf(folder: string): { read: (path: string) => object; tests: readonly HealthTest[] } {
  const read = (path: string): object => parse(readFileSync(join(folder, path), "utf8")) as object;
  return { read, ...(read("health_test.yaml") as { tests: readonly HealthTest[] }) };
}

const { read, tests } = testsOf(HEALTH_FOLDER);
const ofCluster = testsOf(healthFolder("ClusterControllerResilience"));
let askOfCluster: typeof ask;

beforeAll(async () => {
  ask = await argoHealth(silent);
  askOfCluster = await argoHealth(silent, "ClusterControllerResilience");
});

const IDENTITY = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" };

/** An object that the operator has reconciled. */
function looked(conditions: readonly object[]): object {
  return { ...IDENTITY, metadata: { generation: 2 }, status: { observedGeneration: 2, conditions } };
}

const condition = (type: string, status: string, reason = "Any") => ({
  type,
  status,
  reason,
  message: `${type} ${reason}`,
});
const quiet = [condition("Reconciling", "False"), condition("Stalled", "False")];

async function statusOf(object: object): Promise<string> {
  const [opinion] = await ask([object]);
  expect(opinion?.error).toBeUndefined();
  return opinion?.health?.status ?? "none";
}

describe("the health check", () => {
  it("returns the status that Argo CD's test file expects for each object of the test data", async () => {
    const said = await ask(tests.map(({ inputPath }) => read(inputPath)));
    expect(said).toEqual(tests.map(({ healthStatus }) => ({ health: healthStatus })));
    const data = readdirSync(join(HEALTH_FOLDER, "testdata")).map(file => `testdata/${file}`);
    expect(data.toSorted()).toEqual(tests.map(({ inputPath }) => inputPath).toSorted());
  });

  it("returns each of the four states for the test data", () => {
    expect(new Set(tests.map(({ healthStatus }) => healthStatus.status))).toEqual(
      new Set(["Healthy", "Progressing", "Degraded", "Suspended"]),
    );
  });

  it.each<[string, string, object[]]>([
    ["a person must act, also if Ready", "Degraded", [condition("Ready", "True"), condition("Stalled", "True")]],
    [
      "a person must act while work goes on",
      "Degraded",
      [condition("Ready", "False"), condition("Reconciling", "True"), condition("Stalled", "True")],
    ],
    ["work goes on", "Progressing", [condition("Ready", "False"), condition("Reconciling", "True")]],
    ["work goes on, all remedies hold", "Progressing", [condition("Ready", "True"), condition("Reconciling", "True")]],
    ["all remedies hold", "Healthy", [condition("Ready", "True"), ...quiet]],
    ["a remedy does not hold", "Degraded", [condition("Ready", "False", "BindingRefused"), ...quiet]],
    ["a token is dead, in Observe mode", "Degraded", [condition("Ready", "False", "WouldRestart"), ...quiet]],
    ["a template would be changed by Enforce", "Suspended", [condition("Ready", "False", "WouldChange"), ...quiet]],
    [
      "a rollout waits for a maintenance window",
      "Suspended",
      [condition("Ready", "False", "WaitingForWindow"), condition("TokenLifetimeBounded", "False", "WaitingForWindow")],
    ],
    ["the state is unknown", "Progressing", [condition("Ready", "Unknown", "ObserveFailed"), ...quiet]],
    ["the object is suspended", "Suspended", [condition("Ready", "Unknown", "Suspended"), ...quiet]],
    ["a target does not exist yet", "Progressing", [condition("Ready", "False", "TargetNotFound"), ...quiet]],
    ["there are no conditions", "Progressing", []],
  ])("where %s: %s", async (_, expected, conditions) => {
    expect(await statusOf(looked(conditions))).toBe(expected);
  });

  it("ignores conditions of another generation", async () => {
    for (const conditions of [[condition("Ready", "True")], [condition("Stalled", "True")]]) {
      const object = looked(conditions);
      for (const generation of [1, 3])
        expect(await statusOf({ ...object, metadata: { generation } })).toBe("Progressing");
    }
  });

  it("accepts missing and null fields", async () => {
    const part = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
    const text = part(fc.constantFrom("True", "False", "Unknown", "Ready", "Stalled", "Reconciling", "Suspended", ""));
    const fields = { type: text, status: text, reason: text, message: text };
    const conditions = part(fc.array(fc.record(fields, { requiredKeys: [] })));
    const status = part(
      fc.record({ observedGeneration: part(fc.constantFrom(1, 2)), conditions }, { requiredKeys: [] }),
    );
    const metadata = part(fc.record({ generation: part(fc.constant(1)) }, { requiredKeys: [] }));
    const object = fc.record({ metadata, status }, { requiredKeys: [] });
    const states = ["Healthy", "Progressing", "Degraded", "Suspended"];
    // Checks all objects in one run: starting the program takes longer than a check.
    const objects = fc.sample(object, 2_000).map(fieldsOf => ({ ...IDENTITY, ...fieldsOf }));
    const said = await ask(objects);
    const isFine = ({ error, health }: Opinion): boolean =>
      error === undefined && states.includes(health?.status ?? "");
    expect(objects.filter((_, i) => !isFine(said[i] ?? {}))).toEqual([]);
    expect(said).toHaveLength(objects.length);
  });
});

describe("the health check of ClusterControllerResiliences", () => {
  it("returns the status that Argo CD's test file expects for each object of the test data", async () => {
    const said = await askOfCluster(ofCluster.tests.map(({ inputPath }) => ofCluster.read(inputPath)));
    expect(said).toEqual(ofCluster.tests.map(({ healthStatus }) => ({ health: healthStatus })));
    expect(new Set(said.map(({ health }) => health?.status))).toEqual(
      new Set(["Healthy", "Progressing", "Degraded", "Suspended"]),
    );
  });

  it("accepts missing and null fields", async () => {
    const identity = { ...IDENTITY, kind: "ClusterControllerResilience" };
    const empty = [{}, { metadata: null, status: null }, { metadata: {}, status: { conditions: null } }];
    const said = await askOfCluster(empty.map(fields => ({ ...identity, ...fields })));
    expect(said.map(({ health }) => health?.status)).toEqual(["Progressing", "Progressing", "Progressing"]);
  });
});
