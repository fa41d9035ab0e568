import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Lock, takeLock } from "./lock";

describe("takeLock", () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "lock-"));
    path = join(folder, "lock");
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it("admits one holder at a time, and notifies those who must wait", async () => {
    const first = await takeLock({ path, timeoutMs: 60_000 });
    const order: string[] = [];
    let waiting: Promise<Lock> | undefined;
    // The first releases the lock after the second was notified, however long that takes.
    await new Promise<void>((resolve, reject) => {
      const onWait = (): void => {
        order.push("told");
        resolve();
      };
      waiting = takeLock({ path, timeoutMs: 60_000, onWait }).then(lock => {
        order.push("second");
        return lock;
      });
      waiting.catch(reject);
    });
    await expect(takeLock({ path, timeoutMs: 0 })).rejects.toThrow(/another process held .*lock/);
    order.push("first done");
    first.release();
    (await waiting)?.release();
    expect(order).toEqual(["told", "first done", "second"]);
  });

  it("moves to the new file after its holder has deleted the old one", async () => {
    const first = await takeLock({ path, timeoutMs: 60_000 });
    const waiting = takeLock({ path, timeoutMs: 60_000 });
    rmSync(path);
    first.release();
    const second = await waiting;
    expect(existsSync(path)).toBe(true);
    await expect(takeLock({ path, timeoutMs: 0 })).rejects.toThrow("another process");
    second.release();
  });
});
