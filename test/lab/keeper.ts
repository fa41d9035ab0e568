import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { foldersOf } from "./folders";
import { isAlive, MARKER } from "./processes";
import type { LabState } from "./state";

const DOWN = [join(__dirname, "..", "..", "scripts", "run.mjs"), join(__dirname, "cli.ts"), "down", "--orphans"];

/** Waits for the end of its input, and then is no process of the lab any more, since it takes the lab down. */
const KEEPER = `
read -r _
unset ${MARKER}
exec "$@"
`;

/**
 * Takes a lab down as soon as this process has ended, however it ends: the kernel then closes the pipe that the keeper reads. The keeper itself
 * ends with the lab.
 */
export function endWithThisProcess({ name, id }: LabState): void {
  const { logs } = foldersOf(name);
  mkdirSync(logs, { recursive: true });
  const log = openSync(join(logs, "keeper.log"), "a", 0o600);
  const keeper = spawn("sh", ["-c", KEEPER, "sh", process.execPath, ...DOWN], {
    detached: true,
    stdio: ["pipe", log, log],
    env: { ...process.env, [MARKER]: id },
  });
  closeSync(log);
  keeper.unref();
  (keeper.stdin as Socket).unref();
}

/** Whether the process that the lab should have ended with has ended. */
export function isOrphan({ owner }: LabState): boolean {
  return owner !== undefined && !isAlive(owner);
}
