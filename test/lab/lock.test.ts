import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeLock } from "./lock";

describe("takeLock", () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "lock-"));
    path = join(folder, "lock");
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it("lets one in at a time, and tells who has to wait", async () => {
    const first = await takeLock({ path, timeoutMs: 5000 });
    const order: string[] = [];
    const waiting = takeLock({ path, timeoutMs: 5000, onWait: () => order.push("told") }).then(lock => {
      order.push("second");
      return lock;
    });
    await expect(takeLock({ path, timeoutMs: 0 })).rejects.toThrow(/another run held .*lock/);
    order.push("first done");
    first.release();
    (await waiting).release();
    expect(order).toEqual(["told", "first done", "second"]);
  });

  it("is that of the new file when its holder has deleted the old one", async () => {
    const first = await takeLock({ path, timeoutMs: 5000 });
    const waiting = takeLock({ path, timeoutMs: 5000 });
    rmSync(path);
    first.release();
    const second = await waiting;
    expect(existsSync(path)).toBe(true);
    await expect(takeLock({ path, timeoutMs: 0 })).rejects.toThrow("another run");
    second.release();
  });
});
