import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { RemedyDeclaration } from "../core/remedy";
import { createRemedies } from "./registry";

const ROOT = join(__dirname, "../..");

// What holds for each pass of a remedy is expected by its scene, in core/testing/remedy-contract.ts.
describe.each(createRemedies().map(remedy => [remedy.name, remedy] as const))("%s", (_, remedy) => {
  it("has every part that is not code", () => {
    expect(missingParts(remedy, partsIn(ROOT))).toEqual([]);
  });

  it("is in the README and in the description of the API", () => {
    const page = (name: string): string => readFileSync(join(ROOT, name), "utf8");
    expect(page("README.md")).toContain(`](docs/remedies/${remedy.name}.md)`);
    expect(page("docs/api.md")).toMatch(new RegExp(`^ +${remedy.block}:`, "m"));
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
