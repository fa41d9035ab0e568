import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { argoHealth, type Health, HEALTH_FOLDER, type Opinion } from "../argocd/argo-cd";
import { silent } from "../lab/progress";

// The health check as Argo CD itself runs it: with its own library, and without Lua's standard libraries.

/** Long enough to build Argo CD's library on a slow machine. */
const BUILD_MS = 1_800_000;

interface HealthTest {
  readonly inputPath: string;
  readonly healthStatus: Health;
}

let ask: (objects: readonly object[]) => Promise<Opinion[]>;

const read = (path: string): unknown => parse(readFileSync(join(HEALTH_FOLDER, path), "utf8"));
const { tests } = read("health_test.yaml") as { tests: readonly HealthTest[] };

beforeAll(async () => {
  ask = await argoHealth(silent);
}, BUILD_MS);

const IDENTITY = { apiVersion: "controller-resilience.io/v1alpha1", kind: "ControllerResilience" };

/** An object that the operator has looked at. */
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
  it("says of each object of the test data what Argo CD's test file says", async () => {
    const said = await ask(tests.map(({ inputPath }) => read(inputPath) as object));
    expect(said).toEqual(tests.map(({ healthStatus }) => ({ health: healthStatus })));
    const data = readdirSync(join(HEALTH_FOLDER, "testdata")).map(file => `testdata/${file}`);
    expect(data.toSorted()).toEqual(tests.map(({ inputPath }) => inputPath).toSorted());
  });

  it("knows each of four states from the test data", () => {
    expect(new Set(tests.map(({ healthStatus }) => healthStatus.status))).toEqual(
      new Set(["Healthy", "Progressing", "Degraded", "Suspended"]),
    );
  });

  it.each<[string, string, object[]]>([
    ["a person is needed, whatever else is so", "Degraded", [condition("Ready", "True"), condition("Stalled", "True")]],
    [
      "a person is needed and work goes on",
      "Degraded",
      [condition("Ready", "False"), condition("Reconciling", "True"), condition("Stalled", "True")],
    ],
    ["work goes on", "Progressing", [condition("Ready", "False"), condition("Reconciling", "True")]],
    ["work goes on while all holds", "Progressing", [condition("Ready", "True"), condition("Reconciling", "True")]],
    ["all holds", "Healthy", [condition("Ready", "True"), ...quiet]],
    ["something does not hold", "Degraded", [condition("Ready", "False", "BindingRefused"), ...quiet]],
    ["a token is dead, in Observe mode", "Degraded", [condition("Ready", "False", "WouldRestart"), ...quiet]],
    [
      "a template would be changed, in Observe mode",
      "Suspended",
      [condition("Ready", "False", "WouldChange"), ...quiet],
    ],
    ["nobody can tell", "Progressing", [condition("Ready", "Unknown", "ObserveFailed"), ...quiet]],
    ["it is suspended", "Suspended", [condition("Ready", "Unknown", "Suspended"), ...quiet]],
    ["a workload is not there yet", "Progressing", [condition("Ready", "False", "TargetNotFound"), ...quiet]],
    ["there are no conditions", "Progressing", []],
  ])("where %s: %s", async (_, expected, conditions) => {
    expect(await statusOf(looked(conditions))).toBe(expected);
  });

  it("believes nothing that was said of another generation", async () => {
    for (const conditions of [[condition("Ready", "True")], [condition("Stalled", "True")]]) {
      const object = looked(conditions);
      for (const generation of [1, 3])
        expect(await statusOf({ ...object, metadata: { generation } })).toBe("Progressing");
    }
  });

  it("fails at nothing that is missing or null", async () => {
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
    // All at once: starting the program takes longer than asking it.
    const objects = fc.sample(object, 2_000).map(fieldsOf => ({ ...IDENTITY, ...fieldsOf }));
    const said = await ask(objects);
    const isFine = ({ error, health }: Opinion): boolean =>
      error === undefined && states.includes(health?.status ?? "");
    expect(objects.filter((_, i) => !isFine(said[i] ?? {}))).toEqual([]);
    expect(said).toHaveLength(objects.length);
  });
});
