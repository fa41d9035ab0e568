import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = join(__dirname, "..");

/** Relative imports and re-exports of a module: in src with those of types alone, elsewhere without. */
function importsOf(file: string): string[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  const clauses = [...source.matchAll(/^(?:import|export)\b([^;"']*?)["'](\.[^"']+)["']/gm)];
  return clauses
    .filter(
      ([, names = ""]) => file.startsWith("src/") || !/^ type |^ \{(\s*type \w+( as \w+)?,?)*\s*\} from $/.test(names),
    )
    .map(([, , path = ""]) => join(dirname(file), path))
    .flatMap(path => [`${path}.ts`, join(path, "index.ts")].filter(one => existsSync(join(ROOT, one))).slice(0, 1));
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

  it("have no cycles, in src not even of types", () => {
    const files = ["src", "capabilities", "scripts", "test"].flatMap(folder =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
        .filter(name => name.endsWith(".ts"))
        .map(name => join(folder, name)),
    );
    const imports = new Map(files.map(file => [file, importsOf(file)]));
    expect([...imports.values()].flat().length).toBeGreaterThan(files.length);
    expect(cyclesOf(imports).map(cycle => cycle.join(" -> "))).toEqual([]);
  });
});
