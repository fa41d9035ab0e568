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
});
