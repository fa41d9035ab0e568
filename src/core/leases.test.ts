import fc from "fast-check";
import { expect, it } from "vitest";
import { followLease, type LeaseTrack, PAUSES_COUNT_MS } from "./leases";

/** Follows a Lease that is renewed after each of these times, by a holder whose clock is ahead by some. */
function follow(pausesMs: readonly number[], aheadMs = 0): LeaseTrack {
  const lease = { namespace: "team", name: "web", uid: "l", resourceVersion: "1", holder: "web-a", durationMs: 15_000 };
  let nowMs = 1_000_000;
  const read = (before: LeaseTrack | undefined, countedMs: number): LeaseTrack =>
    followLease(before, { ...lease, renewed: String(nowMs + aheadMs) }, { nowMs, countedMs });
  let track = read(undefined, 0);
  for (const countedMs of pausesMs) {
    nowMs += countedMs;
    track = read(track, countedMs);
  }
  return track;
}

/** The longest of those that ended within the time that counts, and the last one. */
function longestOf(pausesMs: readonly number[]): number {
  let agoMs = 0;
  let longestMs = 0;
  for (const ms of pausesMs.toReversed()) {
    if (agoMs < PAUSES_COUNT_MS) longestMs = Math.max(longestMs, ms);
    agoMs += ms;
  }
  return longestMs;
}

it("the pauses of a Lease count for an hour of renewals, whatever the clock of its holder says", () => {
  const rhythm = fc.constantFrom(10_000, 10_000, 10_000, 20_000, 90_000, 240_000, 900_000, 7_200_000);
  const pause = fc.oneof(rhythm, fc.integer({ min: 1, max: 3_000_000 }));
  fc.assert(
    fc.property(fc.array(pause, { maxLength: 600 }), random => {
      for (const pausesMs of [random, random.toSorted((a, b) => b - a)]) {
        const track = follow(pausesMs);
        expect(track.pauses[0]?.ms ?? 0).toBe(longestOf(pausesMs));
        expect(track.pauses.at(-1)?.ms).toBe(pausesMs.at(-1));
        expect({ ...follow(pausesMs, 1e9), renewed: track.renewed }).toEqual(track);
      }
    }),
    { examples: [[[240_000, ...Array<number>(400).fill(10_000)]], [[9, 8, 7, 6, 5, 4, 3, 2, 1]]] },
  );
});

it("a Lease that the operator has followed with a clock that was ahead is followed anew once it is set back", () => {
  const lease = { namespace: "team", name: "web", uid: "l", resourceVersion: "1", durationMs: 15_000, renewed: "r" };
  const ahead = followLease(undefined, { ...lease, holder: "web-a" }, { nowMs: 3_610_000, countedMs: 0 });
  const taken = followLease(ahead, { ...lease, holder: "web-b" }, { nowMs: 3_620_000, countedMs: 10_000 });
  const next = followLease(taken, { ...lease, holder: "web-b" }, { nowMs: 30_000, countedMs: 10_000 });
  expect(next).toMatchObject({ heldFromMs: -Infinity, changedMs: 30_000, renewalsMs: [], standingMs: 0 });
});
