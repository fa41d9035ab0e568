import { spawn } from "node:child_process";
import { join } from "node:path";

const RUN = join(__dirname, "..", "..", "scripts", "run.mjs");

/** Takes a lab down that this process is still starting, as soon as this process has ended: only then it releases the lab. */
export function takeDownOnceGone(name: string): void {
  const down = [RUN, join(__dirname, "cli.ts"), "down", "--name", name];
  spawn(process.execPath, down, { detached: true, stdio: "inherit" }).unref();
}
