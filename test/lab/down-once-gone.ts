import { spawn } from "node:child_process";
import { join } from "node:path";

const RUN = join(__dirname, "..", "..", "scripts", "run.mjs");

/** Removes a lab that this process is still starting, right after this process has exited: only then the lab's lock is free. */
export function takeDownOnceGone(name: string): void {
  const down = [RUN, join(__dirname, "cli.ts"), "down", "--name", name];
  spawn(process.execPath, down, { detached: true, stdio: "inherit" }).unref();
}
