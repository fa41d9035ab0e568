import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const SRC = __dirname;

/** Relative imports and re-exports of a module, including type-only ones, which eslint's import-x/no-cycle ignores. */
function importsOf(file: string): string[] {
  const source = readFileSync(file, "utf8");
  const specifiers = [...source.matchAll(/^(?:import|export)\b[^;"']*?["'](\.[^"']+)["']/gm)].map(
    ([, path = ""]) => path,
  );
  return specifiers
    .map(path => resolve(dirname(file), path))
    .flatMap(path => [`${path}.ts`, join(path, "index.ts")].filter(existsSync).slice(0, 1));
}

/** Returns each import cycle found by a depth-first search, as a list of modules. */
function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push([...path.slice(start), file]);
    if (start >= 0 || done.has(file)) return;
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return cycles;
}

describe("imports", () => {
  it("finds a cycle", () => {
    const imports = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["b"]],
    ]);
    expect(cyclesOf(imports)).toEqual([["b", "c", "b"]]);
  });

  it("have no cycles in src, not even of types", () => {
    const files = readdirSync(SRC, { recursive: true, encoding: "utf8" })
      .filter(name => name.endsWith(".ts"))
      .map(name => join(SRC, name));
    const imports = new Map(files.map(file => [file, importsOf(file)]));
    expect([...imports.values()].flat().length).toBeGreaterThan(files.length);
    const cycles = cyclesOf(imports).map(cycle => cycle.map(file => relative(SRC, file)).join(" -> "));
    expect(cycles).toEqual([]);
  });
});
