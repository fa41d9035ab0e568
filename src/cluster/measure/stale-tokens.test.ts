import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { ForbiddenError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import { StaleTokens } from "./stale-tokens";

function over(answer: () => Readable) {
  const clock = new FakeClock();
  const world = { asked: 0 };
  const open = (): Promise<IncomingMessage> => {
    world.asked++;
    return Promise.resolve(Object.assign(answer(), { headers: {} }) as IncomingMessage);
  };
  return { clock, world, stale: new StaleTokens({ api: { open }, clock }) };
}

const METRICS = [
  "# HELP serviceaccount_stale_tokens_total Cumulative stale projected service account tokens used\n# TYPE serviceac",
  "count_stale_tokens_total counter\nserviceaccount_stale_to",
  "kens_total 12\nserviceaccount_valid_tokens_total 900\n",
];

describe("the API server's count of stale tokens", () => {
  it("is found wherever the stream is cut, and read again after ten minutes", async () => {
    const { clock, world, stale } = over(() => Readable.from(METRICS.map(text => Buffer.from(text))));
    expect(await stale.count()).toBe(12);
    expect(await stale.count()).toBe(12);
    expect(world.asked).toBe(1);
    await clock.run(600_000);
    expect(await stale.count()).toBe(12);
    expect(world.asked).toBe(2);
  });

  it("is unknown if it is missing, forbidden, or the stream breaks", async () => {
    expect(await over(() => Readable.from([Buffer.from("up 1\n")])).stale.count()).toBeNull();
    const forbidden = over(() => {
      throw new ForbiddenError("no");
    });
    expect(await forbidden.stale.count()).toBeNull();
    const broken = over(
      () => new Readable({ read: stream => void stream, construct: done => done(new Error("reset")) }),
    );
    expect(await broken.stale.count()).toBeNull();
  });

  it("times out", async () => {
    const silent = new Readable({ read: () => undefined });
    const clock = new FakeClock();
    const open = (_: unknown, signal: AbortSignal): Promise<IncomingMessage> => {
      signal.addEventListener("abort", () => silent.destroy(new Error("aborted")));
      return Promise.resolve(Object.assign(silent, { headers: {} }) as IncomingMessage);
    };
    const count = new StaleTokens({ api: { open }, clock }).count();
    await clock.run(15_000);
    expect(await count).toBeNull();
  });
});
