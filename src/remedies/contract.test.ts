import fc from "fast-check";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type Outcome, isPermitted, requiredPermission } from "../core/intent";
import type { Plan, RemedyDeclaration } from "../core/remedy";
import { intentsOf, outcomesOf } from "../core/testing/remedy-sample";
import { createRemedies } from "./registry";
import { SAMPLES } from "./testing/samples";

/** More than any remedy needs to come to its first write. */
const MAX_PASSES = 4;

const dates = fc.date({
  min: new Date("2025-01-01T00:00:00Z"),
  max: new Date("2025-01-02T00:00:00Z"),
  noInvalidDate: true,
});

const OUTCOMES: readonly Outcome[] = [
  { result: "Executed" },
  { result: "Observed" },
  { result: "Skipped" },
  { result: "NotLeader" },
  { result: "Limited", limit: "MaxRestarts", retryAfterMs: 1_000 },
  { result: "Blocked", message: "no", retryAfterMs: 1_000 },
  { result: "Forbidden", message: "no" },
  { result: "Conflict", message: "no" },
  { result: "Failed", message: "no" },
];

const ENGINE_REASONS = ["Suspended", "ObserveFailed", "DecideFailed", "Forbidden"];

describe.each(createRemedies().map(remedy => [remedy.name, remedy] as const))("%s", (_, remedy) => {
  const sample = SAMPLES[remedy.block];
  const check = (property: (observed: never, spec: never, now: Date) => void, numRuns = 500): void =>
    fc.assert(
      fc.property(sample.observed, sample.specs, dates, (observed, spec, now) => {
        property(observed as never, spec as never, now);
      }),
      { numRuns },
    );
  const report = (plan: Plan, now: Date, outcome?: Outcome) =>
    sample.report(plan as never, outcome === undefined ? new Map() : outcomesOf(plan, outcome), now);

  it("has every part that is not code", () => {
    expect(missingParts(remedy, partsIn(join(__dirname, "../..")))).toEqual([]);
  });

  it("is in the README and in the description of the API", () => {
    const page = (name: string): string => readFileSync(join(__dirname, "../..", name), "utf8");
    expect(page("README.md")).toContain(`](docs/remedies/${remedy.name}.md)`);
    expect(page("docs/api.md")).toMatch(new RegExp(`^ +${remedy.block}:`, "m"));
  });

  it("plans for any observation without throwing, and twice the same", () => {
    check((observed, spec, now) => {
      expect(sample.plan(observed, spec, now)).toEqual(sample.plan(observed, spec, now));
    });
  });

  it("plans no writes while it reports Unknown", () => {
    check((observed, spec, now) => {
      const plan = sample.plan(observed, spec, now);
      if (report(plan, now).status === "Unknown") expect(intentsOf(plan)).toEqual([]);
    });
  });

  it("gives each item of a plan its own id", () => {
    check((observed, spec, now) => {
      const ids = sample.plan(observed, spec, now).items.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    });
  });

  it("plans no write without a declared permission", () => {
    let intents = 0;
    check((observed, spec, now) => {
      for (const intent of intentsOf(sample.plan(observed, spec, now))) {
        expect(isPermitted(requiredPermission(intent), remedy.permissions)).toBe(true);
        intents++;
      }
      // One plan in 16 has writes: fewer runs would have too few of them now and then.
    }, 2_000);
    expect(intents).toBeGreaterThan(20);
  });

  it("plans no write again after it was executed", () => {
    check((first, spec, now) => {
      let [observed, plan] = [first, sample.plan(first, spec, now)];
      // Some writes are recorded first, or wait for one another: they follow in a later pass.
      for (let pass = 0; pass < MAX_PASSES && intentsOf(plan).length === 0; pass++) {
        observed = sample.applied(observed, plan as never, now) as never;
        plan = sample.plan(observed, spec, now);
      }
      const written = intentsOf(plan).map(({ target }) => `${target.kind}/${target.name}`);
      const again = intentsOf(sample.plan(sample.applied(observed, plan as never, now) as never, spec, now));
      expect(again.filter(({ target }) => written.includes(`${target.kind}/${target.name}`))).toEqual([]);
    });
  });

  it("reports every outcome with a declared reason and a message", () => {
    const reasons = [...Object.keys(remedy.reasons), ...ENGINE_REASONS];
    check((observed, spec, now) => {
      const plan = sample.plan(observed, spec, now);
      for (const outcome of [undefined, ...OUTCOMES]) {
        const { reason, message, stalled } = report(plan, now, outcome);
        expect(reasons).toContain(reason);
        expect(reasons).toContain(stalled?.reason ?? reason);
        expect(message).not.toBe("");
      }
    });
  });
});

/** The parts of a remedy that the type checker does not check. */
interface Parts {
  /** The CRD's schema of spec and status. */
  readonly schema: { readonly spec: Properties; readonly status: Properties };
  /** JSONPaths of the columns of `kubectl get`. */
  readonly columns: readonly string[];
  /** Text of docs/remedies/NAME.md; undefined without that page. */
  readonly page: (name: string) => string | undefined;
}

type Properties = Readonly<Record<string, unknown>>;

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: { readonly properties: Record<string, { properties: Properties }> };
      };
      readonly additionalPrinterColumns: readonly { readonly jsonPath: string }[];
    }[];
  };
}

/** Reads the parts of the remedies in a checkout of this project. */
function partsIn(root: string): Parts {
  const crd = parse(readFileSync(join(root, "crds/controllerresilience.yaml"), "utf8")) as Crd;
  const [version] = crd.spec.versions;
  const properties = version?.schema.openAPIV3Schema.properties ?? {};
  return {
    schema: { spec: properties["spec"]?.properties ?? {}, status: properties["status"]?.properties ?? {} },
    columns: version?.additionalPrinterColumns.map(({ jsonPath }) => jsonPath) ?? [],
    page: name => {
      const path = join(root, "docs/remedies", `${name}.md`);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    },
  };
}

/** One sentence for each missing part of a remedy. src/rights.test.ts compares the chart's rights. */
function missingParts(remedy: RemedyDeclaration, { schema, columns, page }: Parts): string[] {
  const { name, block, owns, condition, reasons } = remedy;
  const text = page(name);
  const crd = "crds/controllerresilience.yaml";
  return [
    ...(block in schema.spec ? [] : [`${crd} has no block spec.${block}`]),
    ...[owns].flat().flatMap(list => (list in schema.status ? [] : [`${crd} has no list status.${list}`])),
    ...(columns.some(path => path.includes(`"${condition}"`)) ? [] : [`${crd} has no column for ${condition}`]),
    ...(text === undefined ? [`docs/remedies/${name}.md does not exist`] : []),
    ...Object.keys(reasons)
      .filter(reason => text !== undefined && !text.includes(`\`${reason}\``))
      .map(reason => `docs/remedies/${name}.md does not explain the reason ${reason}`),
  ];
}
