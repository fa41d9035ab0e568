import fc from "fast-check";
import { expect, it } from "vitest";
import type { Cancel, Clock, Random } from "../../core/time";
import { TransientError } from "../../core/errors";
import type { LeaseStore } from "../../core/ports";
import { FakeClock, seededRandom } from "../../core/testing/fake-clock";
import { LeaderElector } from "./leader-election";
import { MemoryLease, RecordingLog, RecordingMetrics } from "../testing/fakes";

/** A process with a skewed wall clock that can be frozen (SIGSTOP). */
class Machine {
  awakeAtMs = 0;
  readonly clock: Clock;
  constructor(
    private readonly time: FakeClock,
    skewMs: number,
  ) {
    const skewed = time.skewed(skewMs);
    this.clock = { ...skewed, after: (ms, callback) => this.#after(ms, callback) };
  }
  /** A timer that is due during a freeze can be canceled until the machine is awake. */
  #after(ms: number, callback: () => void): Cancel {
    let isCanceled = false;
    const cancel = this.time.after(ms, () =>
      this.whenAwake(() => {
        if (!isCanceled) callback();
      }),
    );
    return () => {
      isCanceled = true;
      cancel();
    };
  }
  whenAwake(callback: () => void): void {
    const restMs = this.awakeAtMs - this.time.monotonicMs();
    if (restMs > 0) this.time.after(restMs, () => this.whenAwake(callback));
    else callback();
  }
}

/** The network between a machine and the API server: it delays, loses or hangs requests and responses. */
class Network implements Omit<LeaseStore, "ref"> {
  /** Fraction of calls that fail. */
  trouble = 0;
  constructor(
    private readonly server: MemoryLease,
    private readonly time: FakeClock,
    private readonly machine: Machine,
    private readonly random: Random,
  ) {}
  get = () => this.#call(() => this.server.get());
  create: LeaseStore["create"] = record => this.#call(() => this.server.create(record));
  update: LeaseStore["update"] = record => this.#call(() => this.server.update(record));

  async #call<T>(work: () => Promise<T>): Promise<T> {
    const bad = this.random() < this.trouble;
    const fate = bad ? Math.floor(this.random() * 5) : -1;
    await this.#pass(bad ? this.random() * 12_000 : this.random() * 200);
    if (fate === 0) throw new TransientError("the request was lost");
    if (fate === 1) return new Promise<T>(() => undefined);
    const settled = await work().then(
      value => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    await this.#pass(bad ? this.random() * 12_000 : this.random() * 200);
    await new Promise<void>(resolve => this.machine.whenAwake(resolve));
    if (fate === 2) throw new TransientError("the answer was lost");
    if (fate === 3) return new Promise<T>(() => undefined);
    return settled();
  }
  #pass(ms: number): Promise<void> {
    return new Promise(resolve => void this.time.after(ms, resolve));
  }
}

interface Trouble {
  readonly kind: (typeof KINDS)[number];
  readonly who: number;
  readonly ms: number;
  readonly share: number;
}

const KINDS = ["freeze", "network", "cut", "delete", "edit", "clear holder", "stop", "calm"] as const;

const troubles: fc.Arbitrary<Trouble[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    who: fc.nat(2),
    // A deletion is fixed within seconds.
    ms: fc.oneof(fc.integer({ min: 100, max: 40_000 }), fc.integer({ min: 100, max: 4_000 })),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  }),
  { maxLength: 20 },
);

/** The second call must not end before the first has released the Lease: the election starts again after it. */
const STOPPED_TWICE: Trouble[] = [
  { kind: "edit", who: 0, ms: 3331, share: 0 },
  { kind: "edit", who: 0, ms: 596, share: 0 },
  { kind: "stop", who: 0, ms: 103, share: 0 },
  { kind: "stop", who: 0, ms: 100, share: 0 },
];

/** One candidate sees no Lease, hears nothing while its leader creates it again, then sees no Lease: it must not lead at once. */
const DELETED_TWICE: Trouble[] = [
  { kind: "delete", who: 0, ms: 2487, share: 0 },
  { kind: "network", who: 0, ms: 35_281, share: 1 },
  { kind: "network", who: 0, ms: 39_945, share: 1 },
  { kind: "calm", who: 0, ms: 2084, share: 0 },
  { kind: "delete", who: 0, ms: 5000, share: 0 },
];

class World {
  readonly time = new FakeClock();
  readonly server = new MemoryLease();
  readonly members: { readonly machine: Machine; readonly network: Network; readonly elector: LeaderElector }[] = [];
  readonly overlaps: string[] = [];
  terms = 0;

  constructor(skewsMs: readonly number[], seed: number) {
    skewsMs.forEach((skewMs, i) => {
      const random = seededRandom(seed + i);
      const machine = new Machine(this.time, skewMs);
      const network = new Network(this.server, this.time, machine, random);
      const elector = new LeaderElector(`candidate-${i}`, {
        store: network,
        clock: machine.clock,
        random,
        log: new RecordingLog(),
        metrics: new RecordingMetrics(),
        annotations: [],
        onStartedLeading: () => this.#started(i),
        onStoppedLeading: () => undefined,
      });
      this.members.push({ machine, network, elector });
      elector.start();
    });
  }

  // isLeader becomes true only here, so every overlap starts here.
  #started(who: number): void {
    this.terms++;
    this.members.forEach(({ elector }, i) => {
      if (i !== who && elector.isLeader()) this.overlaps.push(`${who} began while ${i} was leader`);
    });
  }

  async make(trouble: Trouble): Promise<void> {
    const { kind, who, ms, share } = trouble;
    const member = this.members[who % this.members.length]!;
    if (kind === "freeze") member.machine.awakeAtMs = this.time.monotonicMs() + ms;
    if (kind === "network") for (const { network } of this.members) network.trouble = share;
    if (kind === "cut") member.network.trouble = 1;
    if (kind === "calm") for (const { network } of this.members) network.trouble = 0;
    if (kind === "stop") void member.elector.stop().then(() => member.elector.start());
    this.#tamper(kind);
    await this.time.run(ms);
  }

  #tamper(kind: Trouble["kind"]): void {
    const { record } = this.server;
    if (record === null) return;
    if (kind === "delete") this.server.remove();
    // A leader releases the Lease with an empty holder and a duration of 1 s. If a person writes both, candidates cannot tell the
    // difference. Each change alone must be harmless.
    if (kind === "edit" && record.holderIdentity !== "") this.server.put({ ...record, leaseDurationSeconds: 1 });
    if (kind === "clear holder" && record.leaseDurationSeconds > 1) this.server.put({ ...record, holderIdentity: "" });
  }
}

it("an election never has two leaders, and has one after all faults are over", async () => {
  const skews = fc.array(fc.integer({ min: -86_400_000, max: 86_400_000 }), { minLength: 2, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(skews, fc.integer(), troubles, async (skewsMs, seed, schedule) => {
      const world = new World(skewsMs, seed);
      await world.time.run(30_000);
      for (const trouble of schedule) await world.make(trouble);
      for (const { network } of world.members) network.trouble = 0;
      await world.time.run(150_000);
      expect(world.overlaps).toEqual([]);
      expect(world.members.filter(({ elector }) => elector.isLeader())).toHaveLength(1);
      expect(world.terms).toBeGreaterThan(0);
    }),
    {
      numRuns: 150,
      examples: [
        [[0, 0], -3, STOPPED_TWICE],
        [[0, 0, 0], 225, DELETED_TWICE],
      ],
    },
  );
});
