import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

// What runs over mutations remember: it saves time, and changes no result.

const root = join(__dirname, "../..");
const FILE = join(root, "node_modules/.cache/simulation/findings.json");

/** What worlds depend on. */
const SOURCES = ["src", "test/simulation", "test/fixtures", "crds", "deploy"];

interface Content {
  readonly sources: string;
  /** The seed that found a mutation last. */
  readonly finders: Record<string, number>;
  /** The promises that a seed breaks unmodified, by seed and hours, while the sources stay as they are. */
  readonly unmodified: Record<string, readonly number[]>;
}

/** The findings of earlier runs, and of this one. */
export class Findings {
  readonly #content: Content;

  constructor(private readonly hours: number) {
    const sources = hashOfSources();
    const { finders, ...before } = read();
    this.#content = { sources, finders, unmodified: before.sources === sources ? before.unmodified : {} };
  }

  /** Returns the seeds in the order in which they are tried: the one that found this mutation last, those that found others, the rest. */
  order(name: string, count: number): number[] {
    const { finders } = this.#content;
    const good = new Set([finders[name] ?? 1, ...Object.values(finders).reverse()].filter(seed => seed <= count));
    return [...new Set([...good, ...Array.from({ length: count }, (_, at) => at + 1)])];
  }

  found(name: string, seed: number): void {
    Reflect.deleteProperty(this.#content.finders, name);
    this.#content.finders[name] = seed;
    this.#write();
  }

  unmodified(seed: number): readonly number[] | undefined {
    return this.#content.unmodified[`${seed} ${this.hours}`];
  }

  noteUnmodified(seed: number, promises: readonly number[]): void {
    this.#content.unmodified[`${seed} ${this.hours}`] = promises;
    this.#write();
  }

  #write(): void {
    mkdirSync(dirname(FILE), { recursive: true });
    writeFileSync(FILE, JSON.stringify(this.#content));
  }
}

function read(): Content {
  try {
    return JSON.parse(readFileSync(FILE, "utf8")) as Content;
  } catch {
    return { sources: "", finders: {}, unmodified: {} };
  }
}

function hashOfSources(): string {
  const hash = createHash("sha256");
  for (const source of SOURCES)
    for (const path of readdirSync(join(root, source), { recursive: true, encoding: "utf8" }).sort())
      if (/\.(ts|yaml|json)$/.test(path) && !/\.test\.ts$|mutations\.ts|mends\.ts/.test(path))
        hash.update(path).update(readFileSync(join(root, source, path)));
  return hash.digest("hex");
}
