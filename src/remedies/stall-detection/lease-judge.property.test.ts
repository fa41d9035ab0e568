import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { followLease, longestPauseMs, PAUSES_COUNT_MS, type LeaseTrack, type LeaseView } from "../../core/leases";
import { FakeClock } from "../../core/testing/fake-clock";
import type { PodView } from "../../core/views";
import { AbleTimes, isRunning, isSeenStale, judgeLease, type HeldLease } from "./lease-judge";
import { lease, Scene } from "./testing/scene";

const FOR_MS = 300_000;
const STEP_MS = 10_000;
const DURATION_MS = 15_000;
const FIRST_MS = 1_000_000;
const scene = new Scene();
const first: PodView = scene.pod("web-5d-a", { createdAtMs: 0 }, { startedAtMs: 0 });

/**
 * What happens before one reading to a Lease, or to the pod that holds it: its container exits, and is silent until it starts again; its
 * node does not answer at this reading.
 */
type Event = "renew" | "nothing" | "take" | "release" | "unread" | "exit" | "start" | "unreachable";

const events = fc.array(
  fc.oneof(
    { arbitrary: fc.constant<Event>("renew"), weight: 5 },
    { arbitrary: fc.constant<Event>("nothing"), weight: 8 },
    { arbitrary: fc.constantFrom<Event[]>("take", "release", "unread", "exit", "start", "unreachable"), weight: 1 },
  ),
  { maxLength: 120 },
);

/** Histories in which the Lease often stops. */
const endings = fc
  .tuple(
    events,
    fc.constantFrom<Event[]>("exit", "start", "unreachable", "unread"),
    fc.oneof(fc.constant(0), fc.nat(40)),
    fc.nat(40),
  )
  .map(([history, event, before, after]): Event[] => [
    ...history,
    ...Array<Event>(5).fill("renew"),
    ...Array<Event>(before).fill("nothing"),
    event,
    ...Array<Event>(after).fill("nothing"),
  ]);

interface Step {
  readonly verdict: string;
  /** Readings since the last event that changed the Lease, and renewals in a row before. */
  readonly still: number;
  readonly renewals: number;
  /** Steps since the pod was last seen unable to renew, and whether it had its chance since the Lease changed. */
  readonly able: number;
  readonly hadChance: boolean;
  readonly isFresh: boolean;
  readonly isRunning: boolean;
  /** The pod would be restarted. */
  readonly isRestarted: boolean;
}

/** A Lease of a pod with two containers, and the operator that reads it. `clockMs` is added to every timestamp that the holder writes. */
class Play {
  #view: LeaseView = lease({ holder: "web-5d-a_1", durationMs: DURATION_MS });
  #track: LeaseTrack | undefined;
  #pod: PodView = { ...first, containers: [...first.containers, { ...first.containers[0]!, name: "proxy" }] };
  readonly #clock = new FakeClock(new Date(FIRST_MS));
  readonly #able = new AbleTimes();
  #countedMs = 0;
  #still = 0;
  #renewals = 0;
  #ableSteps = 1_000;
  #hadChance = false;

  constructor(readonly clockMs: number) {}

  step(event: Event): Step | undefined {
    this.#clock.advance(STEP_MS);
    const nowMs = this.#clock.now().getTime();
    this.#live(event, nowMs);
    this.#countedMs = event === "unread" ? -STEP_MS : Math.min(STEP_MS, this.#countedMs + STEP_MS);
    if (event !== "unread") {
      this.#change(event, nowMs);
      this.#track = followLease(this.#track, this.#view, { nowMs, countedMs: this.#countedMs });
    }
    const isAble = this.#ableSteps > this.#still || this.#ableSteps * STEP_MS >= 4 * DURATION_MS;
    this.#hadChance ||= isAble && this.#still * STEP_MS >= DURATION_MS / 2;
    return this.#track && this.#judge(this.#track, event !== "unread");
  }

  #judge(track: LeaseTrack, isFresh: boolean): Step {
    const held: HeldLease = {
      ...{ track, pod: this.#pod, intervalMs: STEP_MS, isFresh, ableForMs: this.#able.ofMs(this.#pod, this.#clock) },
      ...{ isConfirmed: true, wasStale: false },
    };
    const verdict = judgeLease(held, FOR_MS);
    return {
      ...{ verdict, still: this.#still, renewals: this.#renewals, able: this.#ableSteps, isFresh },
      ...{ hadChance: this.#hadChance, isRunning: isRunning(this.#pod) },
      isRestarted: verdict === "stale" && isSeenStale(held),
    };
  }

  #live(event: Event, nowMs: number): void {
    const [main, proxy] = this.#pod.containers;
    const { name, role, restartCount } = main!;
    const next =
      event === "exit"
        ? { name, role, restartCount, running: false, lastFinishedAtMs: nowMs }
        : { ...main!, ...(event === "start" ? { running: true, startedAtMs: nowMs } : {}) };
    this.#pod = { ...this.#pod, containers: [next, proxy!], nodeUnreachable: event === "unreachable" };
    this.#able.follow([this.#pod], this.#clock);
    this.#ableSteps = !next.running || event === "start" || event === "unreachable" ? 0 : this.#ableSteps + 1;
  }

  #change(event: Event, nowMs: number): void {
    const written = String(nowMs + this.clockMs);
    this.#still++;
    if (!["renew", "take", "release"].includes(event)) return;
    const isRenewed = event === "renew" && this.#view.holder !== "";
    this.#still = 0;
    this.#hadChance = false;
    this.#renewals = isRenewed ? this.#renewals + 1 : 0;
    if (event === "renew" && !isRenewed) return;
    this.#view = { ...this.#view, renewed: written, resourceVersion: String(nowMs) };
    if (isRenewed) return;
    this.#view = { ...this.#view, holder: event === "take" ? `web-5d-a_${nowMs}` : "", acquired: written };
  }
}

function play(history: readonly Event[], { clockMs = 0 } = {}): Step[] {
  const world = new Play(clockMs);
  return history.flatMap(event => world.step(event) ?? []);
}

describe("the judge of Leases", () => {
  it("accuses nobody whose Lease has changed within `for`, or who never renewed it four times", () => {
    let accused = 0;
    fc.assert(
      fc.property(events, history => {
        for (const { still, renewals } of play(history).filter(({ verdict }) => verdict === "stale")) {
          accused++;
          expect(still * STEP_MS).toBeGreaterThanOrEqual(FOR_MS);
          expect(renewals).toBeGreaterThanOrEqual(4);
        }
      }),
      { numRuns: 2_000, examples: [[[...Array<Event>(6).fill("renew"), ...Array<Event>(40).fill("nothing")]]] },
    );
    expect(accused).toBeGreaterThan(0);
  });

  it("never looks at the clock of the holder", () => {
    fc.assert(
      fc.property(events, fc.integer({ min: -1e9, max: 1e9 }), (history, clockMs) => {
        expect(play(history, { clockMs })).toEqual(play(history));
      }),
    );
  });

  it("calls no Lease stale whose holder does not run, or has not had four durations to renew it", () => {
    let accused = 0;
    fc.assert(
      fc.property(endings, history => {
        for (const step of play(history).filter(({ verdict }) => verdict === "stale")) {
          accused++;
          expect(step).toMatchObject({ isRunning: true, hadChance: true });
          expect(step.able * STEP_MS).toBeGreaterThanOrEqual(4 * DURATION_MS);
        }
      }),
    );
    expect(accused).toBeGreaterThan(0);
  });

  it("has no pod restarted without a fresh reading, or that had no chance to renew since the Lease changed", () => {
    let restarted = 0;
    fc.assert(
      fc.property(endings, history => {
        for (const step of play(history).filter(one => one.isRestarted)) {
          restarted++;
          expect(step).toMatchObject({ isFresh: true, hadChance: true });
          expect(step.renewals).toBeGreaterThanOrEqual(4);
          expect(step.still * STEP_MS).toBeGreaterThanOrEqual(FOR_MS);
          expect(step.able * STEP_MS).toBeGreaterThanOrEqual(4 * DURATION_MS);
        }
      }),
      { examples: [[[...Array<Event>(6).fill("renew"), "start", ...Array<Event>(40).fill("nothing")]]] },
    );
    expect(restarted).toBeGreaterThan(0);
  });
});

describe("the pauses of a Lease", () => {
  /** Follows a Lease that is renewed after each of these times. */
  function follow(pausesMs: readonly number[]): LeaseTrack {
    let nowMs = FIRST_MS;
    let track = followLease(undefined, lease({ holder: "web-a", renewed: String(nowMs) }), { nowMs, countedMs: 0 });
    for (const countedMs of pausesMs) {
      nowMs += countedMs;
      track = followLease(track, lease({ holder: "web-a", renewed: String(nowMs) }), { nowMs, countedMs });
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

  it("count for an hour of renewals", () => {
    const rhythm = fc.constantFrom(10_000, 10_000, 10_000, 20_000, 90_000, 240_000, 900_000, 7_200_000);
    const pause = fc.oneof(rhythm, fc.integer({ min: 1, max: 3_000_000 }));
    fc.assert(
      fc.property(fc.array(pause, { maxLength: 600 }), random => {
        for (const pausesMs of [random, random.toSorted((a, b) => b - a)]) {
          const track = follow(pausesMs);
          expect(longestPauseMs(track)).toBe(longestOf(pausesMs));
          expect(track.pauses.at(-1)?.ms).toBe(pausesMs.at(-1));
        }
      }),
      { examples: [[[240_000, ...Array<number>(400).fill(10_000)]], [[9, 8, 7, 6, 5, 4, 3, 2, 1]]] },
    );
  });
});
