import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { setPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { build as compile, type Plugin } from "esbuild";
import { nodeRelease } from "../lab/images/downloads";
import { mutated, type Mutation } from "./mutations";
import { failed, type Result } from "./results";
import type { Size } from "./world/plan";

// Runs worlds in several processes at a time.

/** What worlds to run. */
export interface Order {
  readonly seeds: readonly number[];
  readonly world: Size;
  readonly hours: number;
  readonly jobs: number;
  /** Each world ends at its first broken promise. */
  readonly isHasty?: boolean;
  /** Path of the Node.js to run them on; absent: that of the operator's image, which is faster than the oldest one that the source runs on. */
  readonly node?: string;
}

/** One of them. */
export type OneOrder = Pick<Order, "world" | "hours" | "isHasty"> & { readonly seed: number };

/** Most objects of a world live shortly: collected less often, fewer of them are copied. Much code runs only some hundred times in a world. */
const FLAGS = ["--max-semi-space-size=64", "--always-sparkplug"];

/** Worlds have no deadlines: they leave the processor to what has. */
const NICENESS = 10;

/** A world whose clock stands still for so long, in milliseconds, goes round in circles. Usual are seconds, also where others need the processor. */
const LONGEST_STEP_MS = 600_000;

/**
 * Runs worlds, in the order of their seeds. The process of a world that ends is replaced.
 *
 * @param onResult called with each result; false begins no further world
 * @param mutation what is broken in the operator
 * @throws Error if the mutated operator can't be compiled
 */
export async function runWorlds(
  order: Order,
  onResult: (result: Result) => boolean | Promise<boolean>,
  mutation?: Mutation,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "simulation-"));
  const node = order.node ?? (await nodeOfImage());
  try {
    const worker = await bundle(folder, mutation);
    const waiting = [...order.seeds];
    const work = async (): Promise<void> => {
      let child = start(worker, node);
      try {
        for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
          const result = await runOne(child, { ...order, seed });
          if (!child.connected) child = start(worker, node);
          if (!(await onResult(result))) waiting.length = 0;
        }
      } finally {
        child.kill();
      }
    };
    await Promise.all(Array.from({ length: Math.min(order.jobs, order.seeds.length) }, work));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function start(worker: string, execPath: string): ChildProcess {
  const child = fork(worker, { execPath, execArgv: FLAGS, serialization: "advanced" });
  if (child.pid !== undefined) setPriority(child.pid, NICENESS);
  return child;
}

/** Where that is not available, the results are the same on this process's own. */
function nodeOfImage(): Promise<string> {
  const own = process.execPath;
  return process.platform === "linux" ? nodeRelease().catch(() => own) : Promise.resolve(own);
}

/** Compiles the worker once; each process would take seconds for it. */
async function bundle(folder: string, mutation: Mutation | undefined): Promise<string> {
  const root = join(__dirname, "../..");
  const outfile = join(folder, "worker.cjs");
  const common = { bundle: true, platform: "node", format: "cjs", logLevel: "error" } as const;
  await compile({
    ...common,
    entryPoints: [join(__dirname, "worker.ts")],
    outfile,
    absWorkingDir: root,
    plugins: [PLACES, ...(mutation === undefined ? [] : [breakIt(mutation)])],
  });
  return outfile;
}

/** Files that read others beside them do it from where they stand. */
const PLACES: Plugin = {
  name: "places",
  setup: build => {
    build.onLoad({ filter: /test\/simulation\/.*\.ts$/ }, ({ path }) => ({
      contents: `const __dirname = ${JSON.stringify(dirname(path))};\n${readFileSync(path, "utf8")}`,
      loader: "ts",
    }));
  },
};

/** Changes the operator while it is compiled. */
export function breakIt(mutation: Mutation): Plugin {
  const path = join(__dirname, "../..", mutation.file);
  return {
    name: "mutation",
    setup: build => {
      build.onLoad({ filter: /\/src\/.*\.ts$/ }, args => {
        return args.path === path
          ? { contents: mutated(mutation, readFileSync(path, "utf8")), loader: "ts" }
          : undefined;
      });
    },
  };
}

function runOne(child: ChildProcess, { seed, world, hours, isHasty }: OneOrder): Promise<Result> {
  child.send({ seed, world, hours, isHasty });
  return new Promise(resolve => {
    const limit = setTimeout(() => child.kill("SIGKILL"), LONGEST_STEP_MS);
    const done = (result: Result): void => {
      clearTimeout(limit);
      child.removeAllListeners();
      resolve(result);
    };
    child.on("message", message => {
      if (typeof message === "string") limit.refresh();
      else done(message as Result);
    });
    child.once("exit", code => done(failed(seed, hours * 3_600_000, `its process ended with ${code}`)));
  });
}
