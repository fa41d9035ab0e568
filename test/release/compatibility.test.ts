import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { losses, type Schema } from "./compatibility";

const root = join(__dirname, "../..");
const RELEASES = join(root, "test/fixtures/releases");

interface Definition {
  readonly spec: {
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

function schemaIn(folder: string, file: string): Schema {
  const { spec } = parse(readFileSync(join(folder, file), "utf8")) as Definition;
  return spec.versions.find(({ name }) => name === "v1alpha1")?.schema.openAPIV3Schema ?? {};
}

/** The definitions of each release, as `npm run release:prepare` kept them. */
const cases = (existsSync(RELEASES) ? readdirSync(RELEASES) : []).flatMap(release =>
  readdirSync(join(RELEASES, release)).map(file => [release, file] as const),
);

const upgrading = readFileSync(join(root, "docs/upgrading.md"), "utf8");

/** Reports whether docs/upgrading.md names what is lost: `spec.a.b`, a field above it, or `spec.a.b: value` for a value. */
function isNamed(loss: string): boolean {
  const path = (/\.(spec|status)[\w.[\]{}]*/.exec(loss)?.[0] ?? "").slice(1).replace(/^spec\.template\./, "spec.");
  const value = / may no longer be "(.*)"$/.exec(loss)?.[1];
  if (value !== undefined) return upgrading.includes(`\`${path}: ${value}\``);
  const parts = path.split(".");
  return parts.some((_, i) => i > 0 && upgrading.includes(`\`${parts.slice(0, i + 1).join(".")}\``));
}

it.each(cases)(
  "an object of %s stays valid, and keeps its fields and defaults, or docs/upgrading.md says what instead: %s",
  (release, file) => {
    const before = schemaIn(join(RELEASES, release), file);
    const lost = losses(before, schemaIn(join(root, "crds"), file), "");
    expect(lost.filter(loss => !isNamed(loss))).toEqual([]);
  },
);

describe("a change of the schema", () => {
  const before: Schema = {
    type: "object",
    properties: {
      name: { type: "string", maxLength: 10, minLength: 1, enum: ["a", "b"], default: "a" },
      list: { type: "array", items: { type: "integer", nullable: true } },
      map: { type: "object", additionalProperties: { type: "string" } },
    },
  };
  const name = before.properties?.["name"] ?? {};
  const list = before.properties?.["list"] ?? {};
  const map = before.properties?.["map"] ?? {};
  const withField = (field: string, schema: Schema): Schema => ({
    ...before,
    properties: { ...before.properties, [field]: schema },
  });

  it.each<[string, Schema]>([
    [".name is gone", { ...before, properties: { list, map } }],
    ['type of .name was "string", is "integer"', withField("name", { ...name, type: "integer" })],
    ['default of .name was "a", is "b"', withField("name", { ...name, default: "b" })],
    ['.name may no longer be "b"', withField("name", { ...name, enum: ["a"] })],
    ["maxLength of .name was 10, is 9", withField("name", { ...name, maxLength: 9 })],
    ["minLength of .name was 1, is 2", withField("name", { ...name, minLength: 2 })],
    ["maxItems of .list was none, is 3", withField("list", { ...list, maxItems: 3 })],
    [".list[] may no longer be null", withField("list", { ...list, items: { type: "integer" } })],
    [
      'type of .map{} was "string", is "boolean"',
      withField("map", { ...map, additionalProperties: { type: "boolean" } }),
    ],
    [".name is required now", { ...before, required: ["name"] }],
    [
      ".more is new and has a default, which the earlier definition does not apply",
      withField("more", { type: "string", default: "a" }),
    ],
    [".list[] has an enum now", withField("list", { ...list, items: { type: "integer", nullable: true, enum: [1] } })],
  ])("is seen: %s", (sentence, after) => {
    expect(losses(before, after, "")).toEqual([sentence]);
  });

  it.each<[string, Schema]>([
    ["a new field", withField("more", { type: "string" })],
    ["a higher maximum", withField("name", { ...name, maxLength: 11 })],
    ["a lower minimum", withField("name", { ...name, minLength: 0 })],
    ["another value", withField("name", { ...name, enum: ["a", "b", "c"] })],
    ["no limits", withField("name", { type: "string", default: "a" })],
  ])("loses nothing: %s", (_, after) => {
    expect(losses(before, after, "")).toEqual([]);
  });
});
