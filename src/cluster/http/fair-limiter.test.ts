import { describe, expect, it } from "vitest";
import { settle } from "../../core/testing/fake-clock";
import { FairLimiter } from "./fair-limiter";

const never = new AbortController().signal;
const share = (key: string, limit = 10) => [{ key, limit }];

/** Asks for a place and notes when it is given. */
function ask(limiter: FairLimiter, key: string, given: string[], name = key): Promise<() => void> {
  return limiter.acquire(share(key), never).then(release => {
    given.push(name);
    return release;
  });
}

describe("FairLimiter", () => {
  it("bounds all holders together", async () => {
    const limiter = new FairLimiter(2);
    const given: string[] = [];
    const first = ask(limiter, "a", given);
    void ask(limiter, "a", given);
    void ask(limiter, "a", given, "third");
    await settle();
    expect(given).toEqual(["a", "a"]);
    (await first)();
    await settle();
    expect(given).toEqual(["a", "a", "third"]);
    expect(limiter.active).toBe(2);
  });

  it("bounds each share and lets the others pass", async () => {
    const limiter = new FairLimiter(10);
    await limiter.acquire(share("noisy", 1), never);
    const waiting = limiter.acquire(share("noisy", 1), never);
    await limiter.acquire(share("quiet", 1), never);
    expect(limiter.waiting).toBe(1);
    void waiting;
  });

  it("serves the queues in turn, however long one of them is", async () => {
    const limiter = new FairLimiter(1);
    const given: string[] = [];
    const release = await limiter.acquire(share("x"), never);
    const all = [
      ...["n1", "n2", "n3", "n4"].map(name => ask(limiter, "noisy", given, name)),
      ask(limiter, "quiet", given, "q1"),
      ask(limiter, "other", given, "o1"),
    ];
    release();
    for (const next of all) void next.then(done => done());
    await Promise.all(all);
    expect(given).toEqual(["n1", "q1", "o1", "n2", "n3", "n4"]);
    expect(limiter.active).toBe(0);
  });

  it("passes over a waiter whose other share is full", async () => {
    const limiter = new FairLimiter(10);
    const node = { key: "node", limit: 1 };
    const release = await limiter.acquire([{ key: "a", limit: 5 }, node], never);
    const blocked = limiter.acquire([{ key: "a", limit: 5 }, node], never);
    await limiter.acquire([{ key: "a", limit: 5 }], never);
    expect(limiter.waiting).toBe(1);
    release();
    (await blocked)();
  });

  it("forgets who gives up, and counts a second release as none", async () => {
    const limiter = new FairLimiter(1);
    const release = await limiter.acquire(share("a"), never);
    const impatient = new AbortController();
    const gaveUp = limiter.acquire(share("a"), impatient.signal);
    impatient.abort(new Error("enough"));
    await expect(gaveUp).rejects.toThrow("enough");
    expect(limiter.waiting).toBe(0);
    release();
    release();
    expect(limiter.active).toBe(0);
  });
});
