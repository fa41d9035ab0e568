import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../core/testing/fake-clock";
import { MissedChanges } from "./missed-changes";

let clock: FakeClock;
let seen: Set<string>;
let passes: string[];
let changes: MissedChanges;

beforeEach(() => {
  clock = new FakeClock();
  seen = new Set();
  passes = [];
  changes = new MissedChanges({
    clock,
    isSeen: (key, { resourceVersion }) => seen.has(`${key}@${resourceVersion}`),
    enqueue: key => passes.push(key),
  });
});

const version = (resourceVersion: string) => ({ uid: "uid", resourceVersion });

describe("changes that Pepr has seen", () => {
  it("request no pass if the own watch has seen them before", () => {
    seen.add("team/a@5");
    changes.add("team/a", version("5"));
    clock.advance(60_000);
    expect(passes).toEqual([]);
  });

  it("request no pass if the own watch sees them soon after", () => {
    changes.add("team/a", version("5"));
    clock.advance(900);
    seen.add("team/a@5");
    clock.advance(60_000);
    expect(passes).toEqual([]);
  });

  it("request one pass each, after a second, if the own watch does not see them", () => {
    changes.add("team/a", version("5"));
    changes.add("team/b", version("6"));
    changes.add("team/a", version("7"));
    clock.advance(999);
    expect(passes).toEqual([]);
    clock.advance(1);
    expect(passes.sort()).toEqual(["team/a", "team/b"]);
    clock.advance(60_000);
    expect(passes).toHaveLength(2);
  });

  it("that come later have their own second, also if they come while others are passed on", () => {
    changes.add("team/a", version("5"));
    clock.advance(1_000);
    changes.add("team/a", version("6"));
    clock.advance(999);
    expect(passes).toEqual(["team/a"]);
    clock.advance(1);
    expect(passes).toEqual(["team/a", "team/a"]);
  });
});
