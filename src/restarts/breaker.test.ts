import { describe, expect, it } from "vitest";
import type { RestartStatus } from "../api/controller-resilience";
import type { Outcome, RestartClaim } from "../core/intent";
import { FakeClock } from "../core/testing/fake-clock";
import { ObjectSession } from "../engine/object/object-session";
import { makeObject, MemoryObjects } from "../engine/testing/fakes";
import { makeClaim } from "../engine/testing/remedies";
import { makeRestarts, MemoryBreaker } from "./testing/ledger";
import type { ObjectRestarts, RestartEnd } from "./ledger";
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
  clockTrouble: string | null = null;
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
      clockTrouble: () => this.clockTrouble,
      onTripped: note => void this.notes.push(note),
    });
    this.fullPass();
    this.clock.advance(1);
  }

  /** The same process leads again. */
  leadAgain(): void {
    this.#restarts.startTerm();
    this.#restarts.expect([]);
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
    const restarts = this.#restarts.settle(session);
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
  async settle(key: string, outcome: RestartStatus["outcome"]): Promise<void> {
    const session = await this.#session(key);
    const before = session.object.status?.restarts ?? [];
    const restarts = before.map(entry => (entry.outcome === "Restarted" ? { ...entry, outcome } : entry));
    const causes = ["Unknown", "LeaseNotRenewed", "ServiceAccountRecreated"];
    await this.#write(key, session, this.#restarts.settle(session, [{ causes, restarts }]));
  }

  /** The restarts of a pass that has found all of an object to be in vain, and has not written that. */
  async inVain(key: string): Promise<ObjectRestarts> {
    const session = await this.#session(key);
    const before = session.object.status?.restarts ?? [];
    const restarts = before.map(entry => ({ ...entry, outcome: "Ineffective" as const }));
    return this.#restarts.settle(session, [{ causes: ["Unknown"], restarts }]);
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
      "Waiting for the outcome of a restart without proof: pod team/p1 of Deployment/team/a; at most one is open in the cluster.",
    );
    await bench.settle("team/a", "Recovered");
    expect(await bench.restart("shop/b", "p2")).toBe("Requested");
    expect(await bench.restart("shop/c", "p3")).toBe("UnprovenRestart");
  });

  it("waits while two of the last hour were of pods that had worked for less than half an hour, although they seem to help", async () => {
    const bench = new Bench();
    await bench.restart("team/a", "p1", { workedMs: 30 * MINUTE - 1_000 });
    await bench.settle("team/a", "Recovered");
    bench.clock.advance(20 * MINUTE);
    expect(await bench.restart("shop/b", "p2", { workedMs: 0 })).toBe("Requested");
    await bench.settle("shop/b", "Replaced");
    bench.clock.advance(40 * MINUTE - 10);
    expect(await bench.restart("shop/c", "p3")).toBe("UnprovenRestart");
    expect(bench.last?.detail).toBe(
      "Waiting until 2025-01-01T01:00:00Z at the earliest: two restarts without proof did not help, or may still turn out not to: pod team/p1 of Deployment/team/a and pod shop/p2 of Deployment/shop/b.",
    );
    bench.clock.advance(10);
    expect(await bench.restart("shop/c", "p3", { workedMs: 30 * MINUTE })).toBe("Requested");
  });

  it.each(["ServiceAccountRecreated", "SigningKeyRotated", "TokenTooLong"] as const)(
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

  it.each(["Unknown", "ServiceAccountRecreated", "TokenTooLong"] as const)(
    "waits while the operator's clock is off, also one for %s: each proof compares times",
    async cause => {
      const bench = new Bench();
      bench.clockTrouble = "the operator's clock is about 2400 s behind an API server's";
      expect(await bench.restart("team/a", "a-1", { cause })).toBe("OwnTrouble");
      bench.clockTrouble = null;
      expect(await bench.restart("team/a", "a-1", { cause })).toBe("Requested");
    },
  );
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
      /^\S+Z two restarts without proof within an hour did not help: pod team\/p1 of Deployment\/team\/a and pod shop\/p2 of Deployment\/shop\/b$/,
    );
    expect(bench.notes).toEqual([bench.last?.detail]);
    expect(bench.notes[0]).toContain(RESET);
    bench.clock.advance(10 * HOUR);
    expect(await bench.restart("lab/c", "p3")).toBe("Breaker");
  });

  it("is not tripped by one whose outcome another leader knew, and whose object is gone", async () => {
    const bench = new Bench();
    await bench.restart("team/a", "p1");
    bench.clock.advance(30 * MINUTE);
    bench.store.objects.delete("team/a");
    bench.leadAgain();
    await fail(bench, "shop/b", "p2");
    expect(await bench.restart("lab/c", "p3")).toBe("Requested");
  });

  it("is tripped by two of two terms, also if the object of the first is gone", async () => {
    const bench = new Bench();
    await fail(bench, "team/a", "p1");
    bench.delete("team/a");
    bench.leadAgain();
    await fail(bench, "shop/b", "p2");
    expect(await bench.restart("lab/c", "p3")).toBe("Breaker");
  });

  it("counts one with an unreadable time for no longer in another term", async () => {
    const bench = new Bench();
    const entry = { workload: "Deployment/web", time: "?", cause: "Unknown", outcome: "Ineffective" } as const;
    bench.store.put({ ...makeObject("team/a", {}), status: { restarts: [{ ...entry, pod: "p1", podUID: "p1" }] } });
    bench.fullPass();
    bench.clock.advance(HOUR);
    bench.leadAgain();
    await fail(bench, "shop/b", "p2");
    expect(await bench.restart("lab/c", "p3")).toBe("Requested");
  });

  it("is not tripped by two that are an hour apart", async () => {
    const bench = new Bench();
    await fail(bench, "team/a", "p1");
    bench.clock.advance(HOUR);
    await fail(bench, "shop/b", "p2");
    expect(await bench.restart("lab/c", "p3")).toBe("Requested");
  });

  it("is tripped by what a pass finds once that asks for a restart, and not by a pass on caches", async () => {
    const bench = new Bench();
    for (const pod of ["p1", "p2"]) {
      await bench.restart("team/a", pod);
      await bench.settle("team/a", "Recovered");
    }
    const found = await bench.inVain("team/a");
    expect(bench.breaker.state).toBeNull();
    const claim = makeClaim("p3", { cause: "Unknown", limits: ENDLESS });
    expect(await found.request(claim)).toMatchObject({ result: "Limited", limit: "Breaker" });
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

  it("defers while its state is unknown, and while a person has tripped it", async () => {
    const bench = new Bench();
    bench.breaker.state = undefined;
    expect([await bench.restart("team/a", "p1"), bench.last?.detail]).toEqual([
      "Breaker",
      "Restart breaker unknown: the Lease was not read yet; no pod is restarted without proof until it is.",
    ]);
    bench.breaker.state = "mainte\nnance";
    expect(await bench.restart("team/a", "p1")).toBe("Breaker");
    expect(bench.last?.detail).toBe(
      `Restart breaker tripped: mainte nance; no pod is restarted without proof until a person resets it; find out why they did not help, ${RESET}`,
    );
    expect(bench.notes).toEqual([]);
  });
});
