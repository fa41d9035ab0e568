import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

// What GitHub demands of issue forms; it does not show a form that breaks a rule.

const folder = join(__dirname, "../../.github/ISSUE_TEMPLATE");
const INPUTS = ["checkboxes", "dropdown", "input", "textarea"];

interface Part {
  readonly type: string;
  readonly id?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly labels?: readonly string[];
  readonly body: readonly Part[];
}

const files = readdirSync(folder).filter(name => name !== "config.yml");
const formOf = (file: string): Form => parse(readFileSync(join(folder, file), "utf8")) as Form;

describe.each(files)("the form %s", file => {
  const { name, description, labels = [], body } = formOf(file);
  const inputs = body.filter(({ type }) => type !== "markdown");

  it("has a name, a description and inputs of known types", () => {
    expect([name, description].map(text => text.length > 3)).toEqual([true, true]);
    expect(inputs.length).toBeGreaterThan(0);
    expect(inputs.filter(({ type }) => !INPUTS.includes(type))).toEqual([]);
  });

  it("has one id and one label for each input", () => {
    for (const values of [inputs.map(({ id }) => id), inputs.map(({ attributes }) => attributes["label"])])
      expect([...new Set(values.filter(value => typeof value === "string"))]).toHaveLength(inputs.length);
    expect(inputs.filter(({ id = "" }) => !/^[\w-]+$/.test(id))).toEqual([]);
  });

  it("has labels that exist: those of a new repository, and those that docs/releasing.md has the owner create", () => {
    const told = readFileSync(join(folder, "../../docs/releasing.md"), "utf8");
    expect(labels.filter(label => label !== "bug" && !told.includes(`\`${label}\``))).toEqual([]);
  });
});

it("forms have different names", () => {
  const names = files.map(file => formOf(file).name);
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(2);
});
