import { PassThrough } from "node:stream";
import { main } from "../program";

/** What a command line has printed. */
export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    streams[name].on("data", (chunk: Buffer) => (texts[name] += chunk.toString("utf8")));
  const code = await main(args, { ...streams, env });
  await new Promise(resolve => setImmediate(resolve));
  return { code, ...texts };
}
