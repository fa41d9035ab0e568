import { spawn } from "node:child_process";
import { closeSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** A lock that the kernel releases when its holder dies for any reason. */
export interface Lock {
  release: () => void;
}

interface LockWish {
  path: string;
  timeoutMs: number;
  /** Called once, when another process holds it. */
  onWait?: () => void;
}

/**
 * Takes an exclusive lock on a file, which is created if missing. The holder may delete the file:
 * a waiting process then starts again with the new file. Throws after the time limit.
 */
export async function takeLock(wish: LockWish): Promise<Lock> {
  const deadline = Date.now() + wish.timeoutMs;
  let told = false;
  for (;;) {
    mkdirSync(dirname(wish.path), { recursive: true });
    const file = openSync(wish.path, "a");
    const seconds = told ? Math.max(1, Math.ceil((deadline - Date.now()) / 1000)) : 0;
    const taken = await flock(file, seconds);
    if (taken && isStill(file, wish.path)) return { release: () => closeSync(file) };
    closeSync(file);
    if (!taken && !told) wish.onWait?.();
    told = told || !taken;
    if (Date.now() >= deadline)
      throw new Error(`another process held ${wish.path} for more than ${wish.timeoutMs / 1000} s`);
  }
}

/**
 * flock(1) locks the open file that this process shares with it, so the lock remains after flock has exited. Children do not
 * inherit the file, so the lock is released when this process exits.
 */
function flock(file: number, seconds: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn("flock", ["--exclusive", "--timeout", String(seconds), "3"], {
      stdio: ["ignore", "ignore", "inherit", file],
    });
    child.once("error", cause => reject(new Error("flock(1), of util-linux, is needed to lock a lab", { cause })));
    child.once("exit", code => resolve(code === 0));
  });
}

function isStill(file: number, path: string): boolean {
  const current = statSync(path, { throwIfNoEntry: false });
  return current?.ino === fstatSync(file).ino;
}
