import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../api/controller-resilience";
import type { Outcome, RestartClaim } from "../core/intent";
import { FakeClock } from "../core/testing/fake-clock";
import { ObjectSession } from "../engine/object/object-session";
import { makeObject, MemoryObjects } from "../engine/testing/fakes";
import { makeClaim } from "../engine/testing/remedies";
import { makeRestarts, MemoryBreaker } from "./testing/ledger";
import type { ObjectRestarts, RestartEnd, SettledRestarts } from "./ledger";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ENDLESS = { cooldownMs: 0, maxRestarts: 100_000 };
const RESET = "then run: kubectl annotate lease -n system it controller-resilience.io/breaker-";

/** A cluster of one leader; `newLeader` gives the restarts of the next one, which has read the status of every object. */
class Bench {
  readonly clock = new FakeClock();
  readonly breaker = new MemoryBreaker();
  readonly store = new MemoryObjects();
  readonly notes: string[] = [];
  sinceOwnTroubleMs = Infinity;
  settled: SettledRestarts[] = [];
  last: Extract<Outcome, { result: "Limited" }> | undefined;
  #restarts = makeRestarts(this.clock);

  constructor() {
    this.store.put(makeObject("idle/z", {}));
    this.newLeader();
  }

  newLeader(): void {
    this.#restarts = makeRestarts(this.clock, 1, {
      breaker: this.breaker,
      sinceOwnTroubleMs: () => this.sinceOwnTroubleMs,
      onTripped: note => void this.notes.push(note),
    });
    this.fullPass();
    this.clock.advance(1);
  }

  /** Reads the status of every object. */
  fullPass(): void {
    for (const [key, object] of this.store.objects) this.#restarts.load(key, object);
  }

  delete(key: string): void {
    this.store.objects.delete(key);
    this.#restarts.gone(key);
  }

  /** Wants to restart a pod of an object's workload. */
  async restart(
    key: string,
    pod: string,
    changes: Partial<RestartClaim> = {},
    end: RestartEnd = "Executed",
  ): Promise<string> {
    if (!this.store.objects.has(key)) this.store.put(makeObject(key, {}));
    this.clock.advance(1);
    const session = await this.#session(key);
    const restarts = this.#restarts.settle(session, this.settled);
    const answer = await restarts.request(
      makeClaim(pod, { workload: `Deployment/${key}`, cause: "Unknown", limits: ENDLESS, ...changes }),
    );
    this.last = answer.result === "Limited" ? answer : undefined;
    if (answer.result === "Limited") return answer.limit;
    answer.end(end);
    await this.#write(key, session, restarts);
    return answer.result;
  }

  /** Gives every open restart of an object an outcome. */
  settle(key: string, outcome: RestartStatus["outcome"]): Promise<void> {
    return this.change(key, entry => ({ ...entry, outcome: entry.outcome === "Restarted" ? outcome : entry.outcome }));
  }

  /** Drops what has an outcome from the status of an object, as a new generation does. */
  forgive(key: string): Promise<void> {
    return this.change(key, entry => (entry.outcome === "Restarted" ? entry : []));
  }

  /** What a pass does that settles restarts. */
  async change(
    key: string,
    settle: (entry: RestartStatus) => RestartStatus | [],
    { isWritten = true } = {},
  ): Promise<void> {
    const session = await this.#session(key);
    const restarts = (session.object.status?.restarts ?? []).flatMap(settle);
    const causes = ["Unknown", "LeaseNotRenewed", "ServiceAccountRecreated"];
    const settled = this.#restarts.settle(session, [{ causes, restarts }]);
    if (isWritten) await this.#write(key, session, settled);
  }

  async #write(key: string, session: ObjectSession, restarts: ObjectRestarts): Promise<void> {
    await session.writeStatus({ ...session.statusRead, ...restarts.status() });
    this.#restarts.load(key, session.object);
  }

  async #session(key: string): Promise<ObjectSession> {
    return new ObjectSession((await this.store.get(key))!, this.store, this.clock);
  }
}

describe("an unproven restart", () => {
  it("waits until the outcome of every other one in the cluster is known", async () => {
    const bench = new Bench();
    expect(await bench.restart("team/a", "p1")).toBe("Requested");
    expect(await bench.restart("shop/b", "p2", { cause: "LeaseNotRenewed" })).toBe("UnprovenRestart");
    expect(bench.last?.detail).toBe(
      "Waiting for the outcome of another restart without proof: pod team/p1 of Deployment/team/a; at most one is open in the cluster.",
    );
    await bench.settle("team/a", "Recovered");
    expect(await bench.restart("shop/b", "p2")).toBe("Requested");
    expect(await bench.restart("shop/c", "p3")).toBe("UnprovenRestart");
  });

  it("waits while two of pods that had worked for less than half an hour are younger than that, although they seem to help", async () => {
    const bench = new Bench();
    await bench.restart("team/a", "p1", { workedMs: 30 * MINUTE - 1_000 });
    await bench.settle("team/a", "Recovered");
    bench.clock.advance(20 * MINUTE);
    expect(await bench.restart("shop/b", "p2", { workedMs: 0 })).toBe("Requested");
    await bench.settle("shop/b", "Replaced");
    bench.clock.advance(10 * MINUTE - 10);
    expect(await bench.restart("shop/c", "p3")).toBe("UnprovenRestart");
    expect(bench.last?.detail).toBe(
      "Waiting until 2025-01-01T00:30:00Z at the earliest: two restarts without proof did not help, or may still turn out not to: pod team/p1 of Deployment/team/a and pod shop/p2 of Deployment/shop/b.",
    );
    bench.clock.advance(10);
    expect(await bench.restart("shop/c", "p3", { workedMs: 30 * MINUTE })).toBe("Requested");
  });

  it.each(["ServiceAccountRecreated", "CniCredentialRejected", "TokenTooLong"] as const)(
    "neither delays one for %s nor waits for it",
    async cause => {
      const bench = new Bench();
      for (const pod of ["p1", "p2"]) expect(await bench.restart("team/a", pod, { cause })).toBe("Requested");
      expect(await bench.restart("team/b", "p3")).toBe("Requested");
      bench.breaker.trip("a person's reason");
      expect(await bench.restart("team/a", "p4", { cause })).toBe("Requested");
    },
  );

  it.each<[string, (bench: Bench) => void]>([
    ["goes on without an outcome", () => undefined],
    ["lost its object", bench => bench.delete("team/a")],
    ["was made by another leader", bench => bench.newLeader()],
  ])("that %s delays others for half an hour, and then counts as in vain", async (_, happens) => {
    const bench = new Bench();
    await bench.restart("team/a", "p1");
    happens(bench);
    bench.clock.advance(30 * MINUTE - 10);
    expect(await bench.restart("shop/b", "p2")).toBe("UnprovenRestart");
    bench.clock.advance(10);
    expect(await bench.restart("shop/b", "p2")).toBe("Requested");
    await bench.settle("shop/b", "Ineffective");
    expect(await bench.restart("shop/c", "p3")).toBe("Breaker");
  });

  it("that the API server refused delays none", async () => {
    const bench = new Bench();
    expect(await bench.restart("team/a", "p1", {}, "Refused")).toBe("Requested");
    expect(await bench.restart("shop/b", "p2", {}, "NotWritten")).toBe("Requested");
    expect(await bench.restart("team/a", "p1")).toBe("UnprovenRestart");
  });

  it("waits two minutes after the operator's own trouble, unlike a proven one", async () => {
    const bench = new Bench();
    bench.sinceOwnTroubleMs = 119_999;
    expect(await bench.restart("team/a", "a-1")).toBe("OwnTrouble");
    expect(bench.last).toMatchObject({ retryAfterMs: 1 });
    const proof = { cause: "ServiceAccountRecreated", serviceAccountUID: "sa-2" } as const;
    expect(await bench.restart("team/a", "a-1", proof)).toBe("Requested");
    bench.sinceOwnTroubleMs = 120_000;
    expect(await bench.restart("team/b", "b-1")).toBe("Requested");
  });
});

describe("the breaker", () => {
  const fail = async (bench: Bench, key: string, pod: string, cause: RestartClaim["cause"] = "Unknown") => {
    expect(await bench.restart(key, pod, { cause })).toBe("Requested");
    await bench.settle(key, "Ineffective");
  };

  it("is tripped by two that did not help, also for Leases, with one note that has the reset command", async () => {
    const bench = new Bench();
    await fail(bench, "team/a", "p1", "LeaseNotRenewed");
    bench.clock.advance(50 * MINUTE);
    await fail(bench, "shop/b", "p2");
    expect(await bench.restart("lab/c", "p3")).toBe("Breaker");
    expect(await bench.restart("lab/d", "p4")).toBe("Breaker");
    expect(bench.breaker.state).toMatch(
      /^\S+Z 2 restarts without proof within an hour did not help: pod team\/p1 of Deployment\/team\/a and pod shop\/p2 of Deployment\/shop\/b$/,
    );
    expect(bench.notes).toEqual([bench.last?.detail]);
    expect(bench.notes[0]).toContain(RESET);
    bench.clock.advance(10 * HOUR);
    expect(await bench.restart("lab/c", "p3")).toBe("Breaker");
  });

  it("is tripped by what status says, before anything else is to be restarted", async () => {
    const bench = new Bench();
    await fail(bench, "team/a", "p1");
    await fail(bench, "team/a", "p2");
    bench.fullPass();
    expect(bench.breaker.state).not.toBeNull();
    bench.breaker.state = null;
    bench.newLeader();
    expect(bench.breaker.state).not.toBeNull();
  });

  it("counts restarts that a clock ahead by hours has stamped once: after a reset they are old", () => {
    const bench = new Bench();
    const ahead = new Date(bench.clock.now().getTime() + 6 * HOUR).toISOString();
    const entry = { workload: "Deployment/web", time: ahead, cause: "Unknown", outcome: "Ineffective" } as const;
    const restarts = ["p1", "p2"].map(pod => ({ ...entry, pod, podUID: pod }));
    bench.store.put({ ...makeObject("team/a", {}), status: { restarts } });
    bench.fullPass();
    expect(bench.breaker.state).not.toBeNull();
    bench.clock.advance(MINUTE);
    bench.breaker.reset(bench.clock.now().getTime());
    for (let minutes = 0; minutes < 9 * 60; minutes += 10) {
      bench.fullPass();
      expect(bench.breaker.state).toBeNull();
      bench.clock.advance(10 * MINUTE);
    }
  });

  it("is tripped by an outcome of the very pass that asks for the next restart", async () => {
    const bench = new Bench();
    for (const pod of ["p1", "p2"]) {
      await bench.restart("team/a", pod);
      await bench.settle("team/a", "Recovered");
    }
    const before = bench.store.objects.get("team/a")?.status?.restarts ?? [];
    bench.settled = [{ causes: ["Unknown"], restarts: before.map(entry => ({ ...entry, outcome: "Ineffective" })) }];
    expect(await bench.restart("team/a", "p3")).toBe("Breaker");
  });

  it("is not tripped by outcomes that status does not have yet, such as those of a pass on caches", async () => {
    const bench = new Bench();
    for (const pod of ["p1", "p2"]) {
      await bench.restart("team/a", pod);
      await bench.settle("team/a", "Recovered");
    }
    await bench.change("team/a", entry => ({ ...entry, outcome: "Ineffective" }), { isWritten: false });
    expect(bench.breaker.state).toBeNull();
  });

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
});

interface Step {
  readonly waitMs: number;
  readonly key: string;
  readonly cause: RestartClaim["cause"];
  readonly workedMs: number;
  readonly end: RestartEnd;
  readonly settles: "Recovered" | "Replaced" | "Ineffective" | null;
  readonly event: "none" | "newLeader" | "forgive" | "delete" | "reset";
}

/** An unproven restart that was made. */
interface Made {
  readonly key: string;
  readonly timeMs: number;
  readonly outcome: Step["settles"];
  readonly isYoung: boolean;
  /** Status has it no more, so the next leader does not know it. */
  readonly isForgotten?: boolean;
  readonly isBeforeReset?: boolean;
}

/** Plays any order of events, and remembers by itself which unproven restarts were made. */
class Play {
  readonly bench = new Bench();
  isTripped = false;
  #made: Made[] = [];

  /** Returns what the restart of this step came to. */
  async step({ waitMs, key, cause, workedMs, end, settles, event }: Step, pod: string): Promise<string> {
    const { bench } = this;
    bench.clock.advance(waitMs);
    if (settles !== null && bench.store.objects.has(key)) {
      await bench.settle(key, settles);
      this.#change(one => one.key === key && !one.isForgotten && one.outcome === null, { outcome: settles });
    }
    bench.fullPass();
    this.isTripped ||= this.#hasTwoInVain();
    await this.#happens(event, key);
    bench.fullPass();
    this.isTripped ||= this.#hasTwoInVain();
    const result = await bench.restart(key, pod, { cause, workedMs }, end);
    if (result === "Requested" && cause !== "ServiceAccountRecreated" && end !== "Refused" && end !== "NotWritten")
      this.#made.push({ key, timeMs: bench.clock.now().getTime(), outcome: null, isYoung: workedMs < HOUR / 2 });
    return result;
  }

  /** Unproven restarts without an outcome. */
  open(): number {
    return this.#made.filter(one => one.outcome === null && this.#ageMs(one) < HOUR / 2).length;
  }

  /** Unproven restarts that did not help, or may turn out not to. */
  doubtful(): number {
    const doubtMs = ({ outcome, isYoung }: Made): number =>
      outcome === "Recovered" || outcome === "Replaced" ? Number(isYoung) * (HOUR / 2) : HOUR;
    return this.#made.filter(one => !one.isBeforeReset && this.#ageMs(one) < doubtMs(one)).length;
  }

  async #happens(event: Step["event"], key: string): Promise<void> {
    const { bench } = this;
    if (event === "newLeader") {
      this.#made = this.#made.filter(({ isForgotten }) => !isForgotten);
      bench.newLeader();
    } else if (event === "reset") {
      this.#change(() => true, { isBeforeReset: true });
      this.isTripped = false;
      bench.breaker.reset(bench.clock.now().getTime());
    } else if (event === "delete") {
      bench.delete(key);
      this.#change(one => one.key === key, { isForgotten: true });
    } else if (event === "forgive" && bench.store.objects.has(key)) {
      await bench.forgive(key);
      this.#change(one => one.key === key && one.outcome !== null, { isForgotten: true });
    }
  }

  #hasTwoInVain(): boolean {
    const inVain = this.#made.filter(
      one =>
        !one.isBeforeReset && (one.outcome === "Ineffective" || (one.outcome === null && this.#ageMs(one) >= HOUR / 2)),
    );
    return inVain.some(
      (one, i) => this.#ageMs(one) < HOUR && inVain.slice(0, i).some(({ timeMs }) => one.timeMs - timeMs < HOUR),
    );
  }

  #ageMs({ timeMs }: Made): number {
    return this.bench.clock.now().getTime() - timeMs;
  }

  #change(which: (one: Made) => boolean, changes: Partial<Made>): void {
    this.#made = this.#made.map(one => (which(one) ? { ...one, ...changes } : one));
  }
}

describe("whatever the order of events", () => {
  const steps: fc.Arbitrary<Step> = fc.record({
    waitMs: fc.oneof(fc.integer({ min: 2, max: 5 * MINUTE }), fc.integer({ min: 2, max: 70 * MINUTE })),
    key: fc.constantFrom("team/a", "team/b", "shop/c", "lab/d"),
    cause: fc.constantFrom<RestartClaim["cause"][]>("Unknown", "LeaseNotRenewed", "ServiceAccountRecreated"),
    workedMs: fc.constantFrom(5 * MINUTE, HOUR),
    end: fc.constantFrom<RestartEnd[]>("Executed", "Executed", "Executed", "Refused"),
    settles: fc.option(fc.constantFrom("Recovered", "Replaced", "Ineffective", "Ineffective")),
    event: fc.constantFrom("none", "none", "none", "newLeader", "forgive", "delete", "reset"),
  });
  const play = (check: (played: Play, result: string) => void): Promise<void> =>
    fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 60 }), async sequence => {
        const played = new Play();
        for (const [i, one] of sequence.entries()) check(played, await played.step(one, `p${i}`));
      }),
      { numRuns: 300 },
    );

  it("at most one unproven restart is open in the cluster", () =>
    play(played => expect(played.open()).toBeLessThanOrEqual(1)));

  it("at most two of an hour did not help, or may turn out not to", () =>
    play(played => expect(played.doubtful()).toBeLessThanOrEqual(2)));

  it("two in vain within an hour trip the breaker, and nothing else does", () =>
    play(played => expect(played.bench.breaker.state !== null).toBe(played.isTripped)));

  it("a restart is made, waits for another one, or is stopped by the breaker", () =>
    play(({ isTripped }, result) =>
      expect(isTripped ? ["Requested", "Breaker"] : ["Requested", "UnprovenRestart"]).toContain(result),
    ));
});
