import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ControllerResilienceStatus, RestartStatus } from "../../api/controller-resilience";
import type { Outcome, RestartClaim, UnprovenRejections } from "../../core/intent";
import { FakeClock } from "../../core/testing/fake-clock";
import { ObjectSession } from "../object/object-session";
import { makeObject, MemoryObjects } from "../testing/fakes";
import { makeClaim } from "../testing/remedies";
import { makeRestarts, MemoryBreaker } from "../testing/restarts";
import type { BreakerSettings } from "./breaker";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ENDLESS = { cooldownMs: 0, maxRestarts: 100_000, maxRestartsWindowMs: 1_000 };
const CALM: UnprovenRejections = { workloads: 1, watched: 100 };
const RESET = "then run: kubectl annotate lease -n system it controller-resilience.io/breaker-";

/** A cluster of one leader; `newLeader` gives the restarts of the next one, which has read the status of every object. */
class Bench {
  readonly clock = new FakeClock();
  readonly breaker = new MemoryBreaker();
  readonly store = new MemoryObjects();
  readonly notes: string[] = [];
  readonly settings: Partial<BreakerSettings>;
  sinceOwnTroubleMs = Infinity;
  #restarts = makeRestarts(this.clock);

  constructor(settings: Partial<BreakerSettings> = {}) {
    this.settings = settings;
    this.newLeader();
  }

  newLeader(): void {
    this.#restarts = makeRestarts(this.clock, 1, {
      breaker: this.breaker,
      settings: this.settings,
      sinceOwnTroubleMs: () => this.sinceOwnTroubleMs,
      onTripped: note => void this.notes.push(note),
    });
    for (const [key, object] of this.store.objects) this.#restarts.load(key, object);
    this.clock.advance(1);
  }

  put(key: string, status?: ControllerResilienceStatus): void {
    this.store.put(makeObject(key, {}, status));
  }

  /** Wants to restart a pod of an object's workload; the write succeeds. */
  async restart(key: string, pod: string, changes: Partial<RestartClaim> = {}): Promise<string> {
    if (!this.store.objects.has(key)) this.put(key);
    this.clock.advance(1);
    const session = new ObjectSession((await this.store.get(key))!, this.store, this.clock);
    const restarts = this.#restarts.settle(session);
    const claim = makeClaim(pod, { workload: `Deployment/${key}`, limits: ENDLESS, rejections: CALM, ...changes });
    const answer = await restarts.request(claim);
    this.last = answer.result === "Limited" ? answer : undefined;
    if (answer.result === "Limited") return answer.limit;
    answer.end("Executed");
    await session.writeStatus({ ...session.object.status, ...restarts.status() });
    return answer.result;
  }
  last: Extract<Outcome, { result: "Limited" }> | undefined;

  /** Settles every open restart of an object. */
  async settle(key: string, outcome: RestartStatus["outcome"]): Promise<void> {
    const object = (await this.store.get(key))!;
    const restarts = (object.status?.restarts ?? []).map(entry =>
      entry.outcome === "Restarted" ? { ...entry, outcome } : entry,
    );
    const session = new ObjectSession(object, this.store, this.clock);
    const settled = this.#restarts.settle(session, [{ causes: ["Unknown", "RejectedTogether"], restarts }]);
    await session.writeStatus({ ...session.object.status, ...settled.status() });
  }

  /** Drops the restarts of an object from its status, as a new generation does. */
  async forgive(key: string): Promise<void> {
    const session = new ObjectSession((await this.store.get(key))!, this.store, this.clock);
    const settled = this.#restarts.settle(session, [{ causes: ["Unknown", "RejectedTogether"], restarts: [] }]);
    await session.writeStatus({ ...session.object.status, ...settled.status() });
  }
}

describe("the cap on unproven restarts", () => {
  it("trips the breaker, with one note that has the reset command", async () => {
    const bench = new Bench({ restartsPerHour: 3 });
    for (const i of [1, 2, 3]) expect(await bench.restart(`team-${i}/a`, `p${i}`)).toBe("Requested");
    expect(await bench.restart("team-4/a", "p4")).toBe("Breaker");
    expect(await bench.restart("team-5/a", "p5")).toBe("Breaker");
    expect(bench.breaker.state).toMatch(/^\S+Z 3 restarts without proof within an hour \(limit: 3\)$/);
    expect(bench.notes).toHaveLength(1);
    expect(bench.last?.detail).toBe(bench.notes[0]);
    expect(bench.notes[0]).toContain(RESET);
    bench.clock.advance(10 * HOUR);
    expect(await bench.restart("team-4/a", "p4")).toBe("Breaker");
  });

  it("counts an hour, and after a reset only later restarts", async () => {
    const bench = new Bench({ restartsPerHour: 2 });
    await bench.restart("team/a", "p1");
    bench.clock.advance(40 * MINUTE);
    await bench.restart("team/a", "p2");
    bench.clock.advance(21 * MINUTE);
    expect(await bench.restart("team/a", "p3")).toBe("Requested");
    expect(await bench.restart("team/a", "p4")).toBe("Breaker");
    bench.breaker.reset(bench.clock.now().getTime());
    expect(await bench.restart("team/a", "p4")).toBe("Requested");
    expect(await bench.restart("team/a", "p5")).toBe("Requested");
    expect(await bench.restart("team/a", "p6")).toBe("Breaker");
  });

  it("counts the restarts of one workload once if each of them helped", async () => {
    const bench = new Bench();
    for (let i = 0; i < 30; i++) {
      expect(await bench.restart("team/agent", `p${i}`)).toBe("Requested");
      await bench.settle("team/agent", "Recovered");
      bench.clock.advance(MINUTE);
    }
    const other = new Bench({ restartsPerHour: 3 });
    for (const [key, outcome] of [
      ["team/a", "Recovered"],
      ["shop/a", "Recovered"],
      ["team/a", "Ineffective"],
    ] as const) {
      expect(await other.restart(key, `p-${outcome}`)).toBe("Requested");
      await other.settle(key, outcome);
    }
    expect(await other.restart("team/a", "p")).toBe("Breaker");
  });

  it("is counted from the status of all objects by a new leader, which first loads all of them", async () => {
    const bench = new Bench({ restartsPerHour: 2 });
    await bench.restart("team/a", "p1");
    await bench.restart("shop/a", "p2");
    bench.newLeader();
    expect(await bench.restart("new/a", "p3")).toBe("Breaker");
    const requested: string[] = [];
    const restarts = makeRestarts(bench.clock, 1, {
      missing: ["other/a"],
      requestPass: key => void requested.push(key),
    });
    const session = new ObjectSession(bench.store.put(makeObject("team/z", {})), bench.store, bench.clock);
    bench.clock.advance(1);
    expect(restarts.settle(session).deferral(makeClaim("p"))?.limit).toBe("LeaderWarmup");
    expect(restarts.settle(session).deferral(makeClaim("p", { cause: "ServiceAccountRecreated" }))).toBeUndefined();
    expect(requested).toEqual(["other/a"]);
  });

  it("counts a restart that a new generation forgave, but none that was not executed", async () => {
    const bench = new Bench({ restartsPerHour: 1 });
    await bench.restart("team/a", "p1");
    await bench.settle("team/a", "Recovered");
    await bench.forgive("team/a");
    expect(await bench.restart("team/a", "p2")).toBe("Breaker");
    const time = new FakeClock().now().toISOString();
    const entry = { ...makeClaim("p1"), time, outcome: "Requested" as const };
    const other = new Bench({ restartsPerHour: 1 });
    other.put("team/a", { restarts: [entry] });
    other.newLeader();
    await other.forgive("team/a");
    expect(await other.restart("team/a", "p2")).toBe("Requested");
  });

  it.each(["ServiceAccountRecreated", "CniCredentialRejected", "TokenTooLong"] as const)(
    "holds neither for %s nor counts it, also while the breaker is tripped",
    async cause => {
      const bench = new Bench({ restartsPerHour: 1 });
      for (const pod of ["p1", "p2", "p3"]) expect(await bench.restart("team/a", pod, { cause })).toBe("Requested");
      expect(await bench.restart("team/b", "p4")).toBe("Requested");
      expect(await bench.restart("team/b", "p5")).toBe("Breaker");
      expect(await bench.restart("team/a", "p6", { cause })).toBe("Requested");
    },
  );
});

describe("the breaker", () => {
  it("defers while its state is unknown, and while a person has tripped it", async () => {
    const bench = new Bench();
    bench.breaker.state = undefined;
    expect([await bench.restart("team/a", "p1"), bench.last?.detail]).toEqual([
      "Breaker",
      "Restart breaker unknown: the Lease was not read yet; no pod is restarted on log evidence alone until it is.",
    ]);
    bench.breaker.state = "mainte\nnance";
    expect(await bench.restart("team/a", "p1")).toBe("Breaker");
    expect(bench.last?.detail).toBe(
      `Restart breaker tripped: mainte nance; no pod is restarted on log evidence alone until a person resets it; find the cause of the 401 responses, ${RESET}`,
    );
    expect(bench.notes).toEqual([]);
  });

  it.each<[string, UnprovenRejections, string]>([
    ["3 of 3 workloads", { workloads: 3, watched: 3 }, "Requested"],
    ["4 of 4 workloads", { workloads: 4, watched: 4 }, "Requested"],
    ["5 of 9 workloads", { workloads: 5, watched: 9 }, "Breaker"],
    ["5 of 10 workloads", { workloads: 5, watched: 10 }, "Requested"],
    ["10 of 500 workloads", { workloads: 10, watched: 500 }, "Requested"],
    ["11 of 500 workloads", { workloads: 11, watched: 500 }, "Breaker"],
    ["20 of 1000 workloads", { workloads: 20, watched: 1_000 }, "Requested"],
    ["21 of 1000 workloads", { workloads: 21, watched: 1_000 }, "Breaker"],
  ])("by rejections of %s at once", async (_, rejections, expected) => {
    const bench = new Bench();
    expect(await bench.restart("team/a", "p1", { rejections })).toBe(expected);
    if (expected === "Requested") return;
    expect(bench.breaker.state).toContain(
      `${rejections.workloads} of ${rejections.watched} workloads get 401 responses at once`,
    );
    bench.breaker.reset(bench.clock.now().getTime());
    expect(await bench.restart("team/a", "p1", { rejections })).toBe("Requested");
    bench.clock.advance(HOUR);
    expect(await bench.restart("team/a", "p2", { rejections })).toBe("Breaker");
  });
});

describe("the canary", () => {
  const together = (bench: Bench, agoMs = 2 * MINUTE) => ({
    cause: "RejectedTogether" as const,
    rejections: { ...CALM, togetherSinceMs: bench.clock.now().getTime() - agoMs },
  });

  it("lets others follow once it has recovered, one at a time", async () => {
    const bench = new Bench();
    const claim = together(bench);
    expect(await bench.restart("team/a", "p1", claim)).toBe("Requested");
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Canary");
    expect(bench.last?.detail).toBe(
      "Waiting: pod team/p1 of Deployment/team/a was restarted first; the next pod follows once its successor is accepted.",
    );
    await bench.settle("team/a", "Recovered");
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Requested");
    expect(await bench.restart("shop/c", "p3", claim)).toBe("Canary");
  });

  it("trips the breaker when it did not help", async () => {
    const bench = new Bench();
    const claim = together(bench);
    await bench.restart("team/a", "p1", claim);
    await bench.settle("team/a", "Ineffective");
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Breaker");
    expect(bench.breaker.state).toContain(
      "several ServiceAccounts are rejected, and restarting pod team/p1 of Deployment/team/a did not help",
    );
    bench.breaker.reset(bench.clock.now().getTime());
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Requested");
  });

  it("is also the first restart, made before the others began to be rejected", async () => {
    const bench = new Bench();
    const claim = together(bench);
    await bench.restart("team/a", "p1", { cause: "Unknown" });
    await bench.settle("team/a", "Ineffective");
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Breaker");
  });

  it("does not fail by a restart for rejections that began alone, for a workload that was rejected alone", async () => {
    const bench = new Bench();
    const { rejections } = together(bench);
    await bench.restart("team/a", "p1", { cause: "Unknown", rejections });
    await bench.settle("team/a", "Ineffective");
    expect(await bench.restart("shop/b", "p2", { cause: "Unknown", rejections })).toBe("Requested");
    expect(bench.breaker.state).toBeNull();
  });

  it("delays others for half an hour, and never trips the breaker while it has no outcome", async () => {
    const bench = new Bench();
    const claim = together(bench);
    await bench.restart("team/a", "p1", claim);
    bench.clock.advance(29 * MINUTE);
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Canary");
    bench.clock.advance(2 * MINUTE);
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Requested");
    expect(await bench.restart("shop/c", "p3", claim)).toBe("Canary");
    expect(bench.breaker.state).toBeNull();
    await bench.settle("team/a", "Ineffective");
    expect(await bench.restart("shop/c", "p3", claim)).toBe("Breaker");
  });

  it("delays others for no longer if its object was deleted", async () => {
    const bench = new Bench();
    const claim = together(bench);
    await bench.restart("team/a", "p1", claim);
    bench.store.objects.delete("team/a");
    bench.clock.advance(31 * MINUTE);
    expect(await bench.restart("shop/b", "p2", claim)).toBe("Requested");
    expect(bench.breaker.state).toBeNull();
  });

  it("is known to a new leader by the cause in status", async () => {
    const bench = new Bench();
    await bench.restart("team/a", "p1", { cause: "RejectedTogether" });
    bench.newLeader();
    expect(await bench.restart("shop/b", "p2")).toBe("Canary");
    await bench.settle("team/a", "Ineffective");
    expect(await bench.restart("shop/b", "p2")).toBe("Breaker");
  });

  it("does not hold for rejections that began apart, for a restart before them, and if it is off", async () => {
    const bench = new Bench();
    await bench.restart("team/a", "p1");
    expect(await bench.restart("shop/b", "p2")).toBe("Requested");
    await bench.settle("team/a", "Ineffective");
    await bench.settle("shop/b", "Recovered");
    bench.clock.advance(MINUTE);
    expect(await bench.restart("shop/c", "p3", together(bench, 1_000))).toBe("Requested");
    const off = new Bench({ canary: false });
    const claim = together(off);
    await off.restart("team/a", "p1", claim);
    await off.settle("team/a", "Ineffective");
    expect(await off.restart("shop/b", "p2", claim)).toBe("Requested");
    expect(await off.restart("shop/c", "p3", claim)).toBe("Requested");
  });
});

interface Step {
  readonly waitMs: number;
  readonly object: string;
  readonly cause: RestartClaim["cause"];
  readonly isTogether: boolean;
  readonly settles: "Recovered" | "Ineffective" | null;
  readonly event: "none" | "newLeader" | "forgive" | "reset";
}

/** An unproven restart of a play. */
interface Made {
  readonly object: string;
  readonly timeMs: number;
  readonly isForgiven: boolean;
  readonly outcome: Step["settles"];
}

/** Plays a sequence, and checks each unproven restart that is allowed. */
class Play {
  readonly #bench: Bench;
  readonly #perHour: number;
  #made: Made[] = [];

  constructor(restartsPerHour: number) {
    this.#perHour = restartsPerHour;
    this.#bench = new Bench({ restartsPerHour });
  }

  async step(step: Step, pod: string): Promise<void> {
    const bench = this.#bench;
    bench.clock.advance(step.waitMs);
    await this.#happens(step);
    const { object, cause, isTogether } = step;
    const open = openCanaries(bench);
    const togetherSinceMs = bench.clock.now().getTime() - 5 * MINUTE;
    const rejections = isTogether ? { ...CALM, togetherSinceMs } : CALM;
    const result = await bench.restart(object, pod, { cause, rejections });
    const isUnproven = cause !== "ServiceAccountRecreated";
    if (!isUnproven) expect(result).toBe("Requested");
    if (!isUnproven || result !== "Requested") return;
    this.#made.push(this.#checked(object));
    if (isTogether || cause === "RejectedTogether") expect(open).toBe(0);
  }

  async #happens({ object, settles, event }: Step): Promise<void> {
    const bench = this.#bench;
    // Only status outlives a leader, and a new generation removes restarts from it.
    if (event === "newLeader") this.#made = this.#made.filter(({ isForgiven }) => !isForgiven);
    if (event === "newLeader") bench.newLeader();
    if (event === "reset") this.#made = [];
    if (event === "reset") bench.breaker.reset(bench.clock.now().getTime());
    if (!bench.store.objects.has(object)) return;
    if (settles !== null) await bench.settle(object, settles);
    const isSettled = (one: Made): boolean => one.object === object && one.outcome === null && !one.isForgiven;
    this.#made = this.#made.map(one => (isSettled(one) ? { ...one, outcome: settles } : one));
    if (event !== "forgive") return;
    await bench.forgive(object);
    this.#made = this.#made.map(one => (one.object === object ? { ...one, isForgiven: true } : one));
  }

  #checked(object: string): Made {
    const timeMs = this.#bench.clock.now().getTime();
    const recent = this.#made.filter(one => timeMs - one.timeMs < HOUR);
    const helped = recent.filter(({ outcome }) => outcome === "Recovered");
    const incidents = recent.length - helped.length + new Set(helped.map(one => one.object)).size;
    expect(incidents).toBeLessThan(this.#perHour);
    return { object, timeMs, isForgiven: false, outcome: null };
  }
}

describe("for any sequence", () => {
  const steps: fc.Arbitrary<Step> = fc.record({
    waitMs: fc.oneof(fc.integer({ min: 0, max: 5 * MINUTE }), fc.integer({ min: 0, max: HOUR })),
    object: fc.constantFrom("team/a", "team/b", "shop/c", "lab/d"),
    cause: fc.constantFrom<RestartClaim["cause"][]>("Unknown", "RejectedTogether", "ServiceAccountRecreated"),
    isTogether: fc.boolean(),
    settles: fc.option(fc.constantFrom("Recovered", "Ineffective")),
    event: fc.constantFrom("none", "none", "none", "newLeader", "forgive", "reset"),
  });

  it("there are at most so many unproven restarts, those of a workload that helped as one, in an hour without a reset, and one open canary", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), async (sequence, limit) => {
        const play = new Play(limit);
        for (const [i, one] of sequence.entries()) await play.step(one, `p${i}`);
      }),
      { numRuns: 300 },
    );
  });
});

/** Unproven restarts that wait for their outcome, by the status of all objects; those of more than half an hour ago delay no others. */
function openCanaries({ store, clock }: Bench): number {
  const entries = [...store.objects.values()].flatMap(({ status }) => status?.restarts ?? []);
  const open = entries.filter(({ outcome, cause }) => outcome === "Restarted" && cause !== "ServiceAccountRecreated");
  return open.filter(({ time }) => clock.now().getTime() - Date.parse(time) < 30 * MINUTE).length;
}

describe("the operator's own trouble with the API server", () => {
  it("defers unproven restarts for two minutes", async () => {
    const bench = new Bench();
    bench.sinceOwnTroubleMs = 119_999;
    expect(await bench.restart("team/a", "a-1")).toBe("OwnTrouble");
    expect(bench.last).toMatchObject({ retryAfterMs: 1 });
    bench.sinceOwnTroubleMs = 120_000;
    expect(await bench.restart("team/a", "a-1")).toBe("Requested");
  });

  it("does not defer restarts with proof", async () => {
    const bench = new Bench();
    bench.sinceOwnTroubleMs = 0;
    const proof = { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" } as const;
    expect(await bench.restart("team/a", "a-1", proof)).toBe("Requested");
  });
});
