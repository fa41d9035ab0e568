import { describe, expect, it } from "vitest";
import { TransientError, UnauthorizedError } from "../../core/errors";
import { FakeClock } from "../../core/testing/fake-clock";
import { IdentityProbe } from "./identity-probe";
import { RecordingLog } from "../testing/fakes";

type Answer = "ok" | "401" | "silent" | "never";

function makeBench() {
  const clock = new FakeClock();
  const log = new RecordingLog();
  const asked: number[] = [];
  const state = {
    answer: "ok" as Answer,
    deaths: 0,
    ageMs: 700_000 as number | undefined,
    onAsked: (): unknown => undefined,
    hasAccepted: false,
    rejected: undefined as boolean | undefined,
  };
  const identityProbe = new IdentityProbe({
    clock,
    log,
    hasAcceptedWithin: ms => state.hasAccepted && ms === 30_000,
    identity: {
      review: () => {
        asked.push(clock.monotonicMs() - 5_000);
        state.onAsked();
        if (state.answer === "ok") return Promise.resolve();
        if (state.answer === "never") return new Promise(() => undefined);
        const error = state.answer === "401" ? new UnauthorizedError("401") : new TransientError("no answer");
        return Promise.reject(error);
      },
      tokenAgeMs: () => state.ageMs,
    },
    metrics: { identityRejected: rejected => void (state.rejected = rejected) },
    onDead: () => void state.deaths++,
  });
  identityProbe.start();
  const errors = () => log.lines.filter(({ level }) => level === "error");
  return { clock, log, asked, state, identityProbe, errors };
}

describe("the identity probe", () => {
  it("probes immediately and every 30 s, and reports nothing while the identity is accepted", async () => {
    const bench = makeBench();
    await bench.clock.run(90_000);
    expect(bench.asked).toEqual([0, 30_000, 60_000, 90_000]);
    expect([bench.identityProbe.failure(), bench.state.deaths, bench.errors()]).toEqual([null, 0, []]);
    expect(bench.state.rejected).toBe(false);
  });

  it("makes no request while the API server accepts other requests, and one when it no longer does", async () => {
    const bench = makeBench();
    bench.state.hasAccepted = true;
    await bench.clock.run(60_000);
    bench.state.hasAccepted = false;
    await bench.clock.run(30_000);
    expect(bench.asked).toEqual([0, 90_000]);
  });

  it("is accepted again when other requests are", async () => {
    const bench = makeBench();
    bench.state.answer = "401";
    await bench.clock.run(30_000);
    bench.state.hasAccepted = true;
    await bench.clock.run(30_000);
    expect(bench.identityProbe.failure()).toBeNull();
  });

  it("logs a 401 immediately with the age of the token, and ends the process after two minutes of 401s", async () => {
    const bench = makeBench();
    await bench.clock.run(1_000);
    bench.state.answer = "401";
    await bench.clock.run(30_000);
    expect(bench.identityProbe.failure()).toContain("401");
    expect(bench.errors()[0]?.fields).toEqual({ rejectedForSeconds: 0, tokenAgeSeconds: 700 });
    await bench.clock.run(118_000);
    expect(bench.state.deaths).toBe(0);
    await bench.clock.run(10_000);
    expect(bench.state.deaths).toBe(1);
    await bench.clock.run(600_000);
    expect(bench.state.deaths).toBe(1);
  });

  it("counts other failures neither as a 401 nor as a success", async () => {
    const bench = makeBench();
    bench.state.answer = "silent";
    await bench.clock.run(600_000);
    expect([bench.identityProbe.failure(), bench.state.deaths]).toEqual([null, 0]);
    bench.state.answer = "401";
    await bench.clock.run(30_000);
    bench.state.answer = "silent";
    await bench.clock.run(600_000);
    expect([bench.identityProbe.failure(), bench.state.rejected]).toEqual([expect.stringContaining("401"), true]);
    // Only a 401 can end the process.
    expect(bench.state.deaths).toBe(0);
    bench.state.answer = "401";
    await bench.clock.run(60_000);
    expect(bench.state.deaths).toBe(0);
    // Two 401s around an outage are not enough; four are.
    await bench.clock.run(30_000);
    expect(bench.state.deaths).toBe(1);
  });

  it("omits the age of the token if it is unknown", async () => {
    const bench = makeBench();
    bench.state.answer = "401";
    bench.state.ageMs = undefined;
    await bench.clock.run(30_000);
    expect(bench.errors()[0]?.fields).not.toHaveProperty("tokenAgeSeconds");
  });

  it("does not end the process after stop, even if a 401 is in flight", async () => {
    const bench = makeBench();
    bench.state.answer = "401";
    await bench.clock.run(149_000);
    bench.state.onAsked = () => bench.identityProbe.stop();
    await bench.clock.run(60_000);
    expect([bench.asked.length, bench.state.deaths]).toEqual([6, 0]);
  });

  it("continues after a request that never ends", async () => {
    const bench = makeBench();
    bench.state.answer = "never";
    await bench.clock.run(100_000);
    bench.state.answer = "ok";
    await bench.clock.run(60_000);
    expect(bench.asked.length).toBeGreaterThanOrEqual(4);
    expect(bench.identityProbe.failure()).toBeNull();
  });
});
