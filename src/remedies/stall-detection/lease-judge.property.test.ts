import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { followLease, type LeaseTrack, type LeaseView } from "../../core/leases";
import type { PodView } from "../../core/views";
import { judgeLease } from "./lease-judge";
import { lease, Scene } from "./testing/scene";

const FOR_MS = 300_000;
const STEP_MS = 10_000;
const scene = new Scene();
const pod: PodView = scene.pod("web-5d-a", { createdAtMs: 0 }, { startedAtMs: 0 });

/** What happens to a Lease before one reading. */
type Event = "renew" | "nothing" | "take" | "release" | "unread";

const events = fc.array(
  fc.oneof(
    { arbitrary: fc.constant<Event>("renew"), weight: 5 },
    { arbitrary: fc.constant<Event>("nothing"), weight: 8 },
    { arbitrary: fc.constantFrom<Event[]>("take", "release", "unread"), weight: 1 },
  ),
  { maxLength: 120 },
);

interface Step {
  readonly verdict: string;
  /** Readings since the last event that was not `nothing`, and renewals in a row before. */
  readonly still: number;
  readonly renewals: number;
}

/** A Lease, and the operator that reads it. `clockMs` is added to every timestamp that the holder writes. */
class Play {
  #view: LeaseView = lease({ holder: "web-5d-a_1" });
  #track: LeaseTrack | undefined;
  #nowMs = 1_000_000;
  #countedMs = 0;
  #still = 0;
  #renewals = 0;

  constructor(readonly clockMs: number) {}

  step(event: Event): Step | undefined {
    this.#nowMs += STEP_MS;
    this.#countedMs = event === "unread" ? -STEP_MS : Math.min(STEP_MS, this.#countedMs + STEP_MS);
    if (event === "unread") return undefined;
    this.#change(event);
    this.#count(event);
    this.#track = followLease(this.#track, this.#view, { nowMs: this.#nowMs, countedMs: this.#countedMs });
    const known = { isFresh: true, ableForMs: Infinity, isConfirmed: false, previous: undefined };
    const held = { track: this.#track, pod, intervalMs: STEP_MS, ...known };
    const verdict = this.#view.holder === "" ? "renewed" : judgeLease(held, FOR_MS);
    return { verdict, still: this.#still, renewals: this.#renewals };
  }

  #change(event: Event): void {
    const written = String(this.#nowMs + this.clockMs);
    if (event === "renew" && this.#view.holder !== "") this.#view = { ...this.#view, renewed: written };
    if (event !== "take" && event !== "release") return;
    const holder = event === "take" ? `web-5d-a_${this.#nowMs}` : "";
    this.#view = { ...this.#view, holder, acquired: written, renewed: written };
  }

  #count(event: Event): void {
    this.#still = event === "nothing" ? this.#still + 1 : 0;
    if (event === "renew" && this.#view.holder !== "") this.#renewals++;
    else if (event !== "nothing") this.#renewals = 0;
  }
}

function play(history: readonly Event[], clockMs = 0): Step[] {
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
        expect(play(history, clockMs)).toEqual(play(history));
      }),
    );
  });
});
