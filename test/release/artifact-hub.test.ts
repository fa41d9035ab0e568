import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import cfg from "../../package.json";
import { checkSpec, type Schema, schemaOf } from "../../src/cli/schema/check";

type Kind = Parameters<typeof schemaOf>[0];

// The annotations that Artifact Hub reads: https://artifacthub.io/docs/topics/annotations/helm

const root = join(__dirname, "../..");
const read = (path: string): unknown => parse(readFileSync(join(root, path), "utf8"));
const { annotations } = read("deploy/chart/Chart.yaml") as { annotations: Readonly<Record<string, string>> };
const listOf = (name: string): unknown => parse(annotations[`artifacthub.io/${name}`] ?? "");

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly names: { readonly kind: string }; readonly versions: readonly { readonly name: string }[] };
}

const specOf = (kind: Kind): Schema => schemaOf(kind).properties?.["spec"] ?? {};

const definitions = readdirSync(join(root, "crds"))
  .filter(name => name.endsWith(".yaml"))
  .map(name => read(join("crds", name)) as Definition);

it("name each definition, its kind and its versions", () => {
  const told = listOf("crds") as { kind: string; version: string; name: string }[];
  const wanted = definitions.flatMap(({ metadata, spec }) =>
    spec.versions.map(({ name }) => ({ kind: spec.names.kind, version: name, name: metadata.name })),
  );
  const ids = told.map(({ kind, version, name }) => ({ kind, version, name }));
  expect(ids.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(
    wanted.toSorted((a, b) => a.name.localeCompare(b.name)),
  );
});

it("have a valid example of each kind, which only observes", () => {
  const examples = listOf("crdsExamples") as { kind: Kind; spec: { mode: string } }[];
  expect(examples.flatMap(example => checkSpec(example.spec, specOf(example.kind), "spec"))).toEqual([]);
  expect(examples.map(({ kind }) => kind).sort()).toEqual(definitions.map(({ spec }) => spec.names.kind).sort());
  expect(examples.map(({ spec }) => spec.mode)).toEqual(examples.map(() => "Observe"));
});

it("have the license of the project, a category and a level of capabilities that exist", () => {
  expect(annotations).toMatchObject({
    "artifacthub.io/license": cfg.license,
    "artifacthub.io/category": "monitoring-logging",
    "artifacthub.io/operatorCapabilities": "Deep Insights",
  });
});
