import { describe, expect, it } from "vitest";
import { settle } from "../../core/testing/fake-clock";
import { FairLimiter } from "./fair-limiter";

const never = new AbortController().signal;
const share = (key: string, limit = 10) => [{ key, limit }];

/** Asks for a slot, and records when it is granted. */
function ask(limiter: FairLimiter, key: string, given: string[], name = key): Promise<() => void> {
  return limiter.acquire(share(key), never).then(release => {
    given.push(name);
    return release;
  });
}

describe("FairLimiter", () => {
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
    await limiter.acquire(share("next"), never);
  });

  it("takes a share with an empty key for no other one, such as that of core kinds", async () => {
    const limiter = new FairLimiter(4);
    const given: string[] = [];
    for (const key of ["x", "x", "", ""]) void limiter.acquire(share(key, 2), never).then(() => given.push(key));
    await settle();
    expect(given).toEqual(["x", "x", "", ""]);
  });

  it("skips a waiter whose other share is full", async () => {
    const limiter = new FairLimiter(10);
    const node = { key: "node", limit: 1 };
    const release = await limiter.acquire([{ key: "a", limit: 5 }, node], never);
    const given: string[] = [];
    const blocked = limiter.acquire([{ key: "a", limit: 5 }, node], never).then(() => given.push("blocked"));
    void limiter.acquire([{ key: "a", limit: 5 }], never).then(() => given.push("free"));
    await settle();
    expect(given).toEqual(["free"]);
    release();
    await blocked;
  });

  it("removes a waiter that gives up, and ignores a second release", async () => {
    const limiter = new FairLimiter(1);
    const release = await limiter.acquire(share("a"), never);
    const impatient = new AbortController();
    const gaveUp = limiter.acquire(share("a"), impatient.signal);
    impatient.abort(new Error("enough"));
    await expect(gaveUp).rejects.toThrow("enough");
    release();
    release();
    const given: string[] = [];
    void ask(limiter, "a", given, "first");
    void ask(limiter, "a", given, "second");
    await settle();
    expect(given).toEqual(["first"]);
  });
});
