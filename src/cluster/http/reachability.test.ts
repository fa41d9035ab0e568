import { describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { Reachability } from "./reachability";

describe("reachability", () => {
  it("depends on successful answers of the last minute, whatever other requests are refused", () => {
    const clock = new FakeClock();
    const reachability = new Reachability(clock);
    reachability.answered(401);
    expect(reachability.trouble()).toBe("no response from the API server yet");
    reachability.answered(200);
    clock.advance(60_000);
    reachability.answered(403);
    expect(reachability.trouble()).toBeNull();
    clock.advance(5_000);
    expect(reachability.trouble()).toBe("no successful response from the API server for 65 s");
    reachability.answered(200);
    expect(reachability.trouble()).toBeNull();
  });

  it("knows whether requests were lately accepted and none rejected", () => {
    const clock = new FakeClock();
    const reachability = new Reachability(clock);
    expect(reachability.hasAcceptedWithin(30_000)).toBe(false);
    reachability.answered(200);
    clock.advance(29_000);
    reachability.answered(403);
    expect(reachability.hasAcceptedWithin(30_000)).toBe(true);
    reachability.answered(401);
    reachability.answered(200);
    expect(reachability.hasAcceptedWithin(30_000)).toBe(false);
    clock.advance(30_000);
    expect(reachability.hasAcceptedWithin(30_000)).toBe(false);
    reachability.answered(200);
    expect(reachability.hasAcceptedWithin(30_000)).toBe(true);
  });

  it("remembers the last 401 and the end of the last outage", () => {
    const clock = new FakeClock();
    const reachability = new Reachability(clock);
    reachability.answered(503);
    reachability.answered(200);
    clock.advance(60_000);
    reachability.answered(403);
    expect(reachability.sinceTroubleMs()).toBe(Infinity);
    reachability.answered(401);
    clock.advance(5_000);
    expect(reachability.sinceTroubleMs()).toBe(5_000);
    clock.advance(100_000);
    reachability.answered(200);
    clock.advance(7_000);
    expect(reachability.sinceTroubleMs()).toBe(7_000);
  });
});
