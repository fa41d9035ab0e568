import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MUTATIONS, type Mutation } from "./mutations";

// Proof that the simulation bites: the operator is broken in one way at a time, in a copy, and some seed must find it.

const root = join(__dirname, "../..");

/** Seeds in which a mutation must be found. */
const SEEDS = 200;

/** Breaks the operator in each way. @returns 1 if one is not found, or can't be made */
export async function mutate(
  name: string | undefined,
  { jobs, hours }: { readonly jobs: number; readonly hours: number },
): Promise<number> {
  const chosen = MUTATIONS.filter(mutation => name === undefined || mutation.name === name);
  if (chosen.length === 0) {
    const names = MUTATIONS.map(mutation => mutation.name).join(", ");
    console.error(`--mutate: expected a name of test/simulation/mutations.ts, got ${name}. There are ${names}.`);
    return 1;
  }
  let missed = 0;
  for (const mutation of chosen) {
    const found = await tryOne(mutation, jobs, hours);
    if (found === undefined) missed++;
    console.log(
      `${found === undefined ? "NOT FOUND" : "found"}  ${mutation.name}${found === undefined ? "" : `: ${found}`}`,
    );
  }
  console.log(`${chosen.length - missed} of ${chosen.length} mutations were found within ${SEEDS} seeds.`);
  return missed === 0 ? 0 : 1;
}

/** Returns what found it. */
async function tryOne(mutation: Mutation, jobs: number, hours: number): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "mutation-"));
  try {
    for (const part of ["src", "test/simulation", "test/fixtures", "crds", "deploy", "package.json", "tsconfig.json"])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    breakIt(folder, mutation);
    return await firstViolation(folder, jobs, hours);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @throws Error if the text is not there exactly once: the source has changed */
function breakIt(folder: string, { file, from, to, name }: Mutation): void {
  const path = join(folder, file);
  const parts = readFileSync(path, "utf8").split(from);
  if (parts.length !== 2)
    throw new Error(`${name}: expected the text once in ${file}, got it ${parts.length - 1} times`);
  writeFileSync(path, parts.join(to));
}

function firstViolation(folder: string, jobs: number, hours: number): Promise<string | undefined> {
  const args = ["--import", "tsx", "test/simulation/until-broken.ts", String(SEEDS), String(jobs), String(hours)];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return new Promise(resolve => child.on("close", () => resolve(output.trim() === "" ? undefined : output.trim())));
}
