import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type SchemaObject } from "ajv";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { type ChartValue, chartValues } from "../../scripts/chart-readme";

const root = join(__dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

const values = chartValues(root);
const paths = values.map(({ path }) => path);
const defaults = read("deploy/chart/values.yaml");
const schema = JSON.parse(read("deploy/chart/values.schema.json")) as SchemaObject & { properties: object };
const isValid = new Ajv({ strict: false }).compile(schema);

/** Reports whether the schema accepts the chart's values with another one in their place. */
function isValidWith({ path }: Pick<ChartValue, "path">, value: unknown): boolean {
  const all = parse(defaults) as Record<string, unknown>;
  const sections = path.split(".");
  const name = sections.pop() ?? "";
  sections.reduce((section, key) => section[key] as typeof section, all)[name] = value;
  return isValid(all);
}

it("every value of the chart has a type in its schema, and a comment that is a sentence", () => {
  const lacking = ({ type, about }: ChartValue): boolean => type === "" || !/[.`)]$/.test(about);
  expect(values.filter(lacking)).toEqual([]);
  expect(values.length).toBeGreaterThan(35);
});

it("a value is told by the comment above it, or above its only heading", () => {
  const about = (path: string): string | undefined => values.find(value => value.path === path)?.about;
  expect(about("operator.enabled")).toMatch(/^If disabled, the chart installs only/);
  expect(about("namespace.create")).toMatch(/^Creates the namespace of the release/);
  expect(about("networkPolicy.apiServer.cidrs")).toMatch(/Example/);
  expect(about("notifications.secretName")).not.toContain("(docs/");
  expect(about("resources")).toContain("([docs/measurements.md](../../docs/measurements.md))");
});

it("a type names the choices or the range of a value", () => {
  const type = (path: string): string | undefined => values.find(value => value.path === path)?.type;
  expect([type("mode"), type("replicas"), type("flowSchemas.enabled")]).toEqual([
    "`Enforce`, `Observe`",
    "integer, 1 to 5",
    "boolean",
  ]);
});

it("the schema accepts every default, and an empty value where the comment explains it", () => {
  expect(isValid(parse(defaults))).toBe(true);
  expect(isValidWith({ path: "replicas" }, 0)).toBe(false);
  const explained = values.filter(({ about }) => about.includes("If empty"));
  expect(explained.length).toBeGreaterThan(5);
  const empty = ({ fallback }: ChartValue): unknown =>
    fallback.startsWith("[") ? [] : fallback.startsWith("{") ? {} : "";
  expect(explained.filter(value => !isValidWith(value, empty(value)))).toEqual([]);
});

it("the schema knows no value that values.yaml has not", () => {
  const untold = ({ properties = {} }: { properties?: object }, found: Record<string, unknown>): string[] =>
    Object.entries(properties).flatMap(([name, part]: [string, object]) => {
      const value = found[name];
      if (value === undefined) return [name];
      const isSection = typeof value === "object" && Object.keys(value ?? {}).length > 0;
      return isSection ? untold(part, value as Record<string, unknown>) : [];
    });
  expect(untold(schema, parse(defaults) as Record<string, unknown>)).toEqual(["global"]);
});

it("docs/install.md has the defaults of the chart", () => {
  const [, list = ""] = read("docs/install.md").split("## What to decide");
  const told = [...list.matchAll(/^- `([\w.]+)` \((.*?)\):/gm)].map(([, path = "", text = ""]) => ({
    path,
    text,
  }));
  const sections = told.filter(({ path }) => !paths.includes(path));
  expect(sections.map(({ path }) => path)).toEqual(["notifications", "monitoring"]);
  const plain = (text: string): string => text.replaceAll(/[`"[\] ]/g, "");
  const wrong = told.filter(({ path, text }) => {
    const fallback = plain(values.find(value => value.path === path)?.fallback ?? "");
    return fallback !== "" && fallback !== plain(text);
  });
  expect(wrong).toEqual([]);
});
