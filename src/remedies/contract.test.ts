import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createRemedies } from "./registry";

/** The text of a file of this project; empty without that file. */
function textOf(path: string): string {
  const file = join(__dirname, "../..", path);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

type Properties = Readonly<Record<string, unknown>>;

interface Version {
  readonly schema: { readonly openAPIV3Schema: { readonly properties: Record<string, { properties: Properties }> } };
  readonly additionalPrinterColumns: readonly { readonly jsonPath: string }[];
}

const CRD = parse(textOf("crds/controllerresilience.yaml")) as { readonly spec: { readonly versions: [Version] } };
const [{ schema, additionalPrinterColumns }] = CRD.spec.versions;
const { spec, status } = schema.openAPIV3Schema.properties;

// What holds for each pass of a remedy is expected by its scene, in core/testing/remedy-contract.ts; src/rights.test.ts compares the chart's rights.
describe.each(createRemedies().map(remedy => [remedy.name, remedy] as const))("%s", (name, remedy) => {
  it("has its block, its lists and its column in the definition", () => {
    expect(Object.keys(spec?.properties ?? {})).toContain(remedy.block);
    expect(Object.keys(status?.properties ?? {})).toEqual(expect.arrayContaining([remedy.owns].flat()));
    const columns = additionalPrinterColumns.filter(({ jsonPath }) => jsonPath.includes(`"${remedy.condition}"`));
    expect(columns).not.toEqual([]);
  });

  it("has a page that explains its reasons", () => {
    const page = textOf(`docs/remedies/${name}.md`);
    expect(Object.keys(remedy.reasons).filter(reason => !page.includes(`\`${reason}\``))).toEqual([]);
  });

  it("is in the README and in the description of the API", () => {
    expect(textOf("README.md")).toContain(`](docs/remedies/${name}.md)`);
    expect(textOf("docs/api.md")).toMatch(new RegExp(`^ +${remedy.block}:`, "m"));
  });
});
