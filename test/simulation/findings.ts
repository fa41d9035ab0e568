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
  /** The promises that a seed breaks unmodified, by seed and hours, while the sources stay as they are. */
  readonly unmodified: Record<string, readonly number[]>;
}

/** The findings of earlier runs, and of this one. */
export class Findings {
  readonly #content: Content;

  constructor(private readonly hours: number) {
    const sources = hashOfSources();
    const before = read();
    this.#content = { sources, unmodified: before.sources === sources ? before.unmodified : {} };
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
    return { sources: "", unmodified: {} };
  }
}

function hashOfSources(): string {
  const hash = createHash("sha256");
  for (const source of SOURCES)
    for (const path of readdirSync(join(root, source), { recursive: true, encoding: "utf8" }).sort())
      if (/\.(ts|yaml|json)$/.test(path) && !/\.test\.ts$|mutations\.ts|mends\.ts|finders\.ts/.test(path))
        hash.update(path).update(readFileSync(join(root, source, path)));
  return hash.digest("hex");
}
