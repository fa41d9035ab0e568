import { describe, expect, it } from "vitest";
import { LeaderWarmup } from "./rollouts";
import type { Mode } from "../core/remedy";
import type {
  ControllerResilienceSpec,
  ControllerResilienceStatus,
  DaemonSetStatus,
} from "../api/controller-resilience";
import type { Intent } from "../core/intent";
import type { Key } from "../core/ports";
import { TerminalError, UnavailableError } from "../core/errors";
import { FakeClock } from "../core/testing/fake-clock";
import { ObjectSession } from "../engine/object/object-session";
import { makeObject, MemoryObjects, RecordingLog, RecordingMetrics, RecordingWriter } from "../engine/testing/fakes";
import { makeRemedy } from "../engine/testing/remedies";
import { makeRestarts } from "./testing/ledger";
import { Executor } from "../engine/write/executor";

function makeWarmup() {
  const requested: string[] = [];
  return { requested, warmup: new LeaderWarmup(key => void requested.push(key)) };
}

describe("the warm-up of a new leader", () => {
  it("is complete when all objects of the first list are loaded, and requests those that are missing, ten at a time", () => {
    const { requested, warmup } = makeWarmup();
    warmup.loaded("team/a");
    expect([warmup.isComplete(), requested]).toEqual([false, []]);
    const keys = Array.from({ length: 12 }, (_, i) => `team-${i}/a`);
    warmup.expect(keys);
    expect([warmup.isComplete(), requested.splice(0)]).toEqual([false, keys.slice(0, 10)]);
    for (const key of keys.slice(0, 11)) warmup.loaded(key);
    expect([warmup.isComplete(), requested.splice(0)]).toEqual([false, ["team-11/a"]]);
    warmup.loaded("team-11/a");
    expect([warmup.isComplete(), requested]).toEqual([true, []]);
  });

  it("ignores later lists of a term, and starts again in each term", () => {
    const { warmup } = makeWarmup();
    warmup.expect([]);
    warmup.expect(["team/new"]);
    expect(warmup.isComplete()).toBe(true);
    warmup.startTerm();
    expect(warmup.isComplete()).toBe(false);
    warmup.expect(["team/new"]);
    expect(warmup.isComplete()).toBe(false);
  });
});

const MINUTE = 60_000;
const LIFETIME = { expirationSeconds: 600 } as ControllerResilienceSpec["tokenLifetime"];

/** A cluster with one leader and these objects still to load. */
class Bench {
  readonly clock = new FakeClock();
  readonly writer = new RecordingWriter();
  readonly store = new MemoryObjects();
  sinceOwnTroubleMs = Infinity;
  clockTrouble: string | null = null;
  readonly #restarts;
  readonly #executor = new Executor({ writer: this.writer, clock: this.clock, metrics: new RecordingMetrics() });

  constructor(missing: Key[] = []) {
    const sinceOwnTroubleMs = (): number => this.sinceOwnTroubleMs;
    const clockTrouble = (): string | null => this.clockTrouble;
    this.#restarts = makeRestarts(this.clock, undefined, { missing, sinceOwnTroubleMs, clockTrouble });
    this.clock.advance(10_000);
  }

  /** Wins over spec.mode. */
  mode: Mode | undefined;

  /** The status of an object is read, as at the beginning of a pass. */
  load(
    key: Key,
    outcome?: DaemonSetStatus["outcome"],
    spec: Partial<ControllerResilienceSpec> = {},
    more: Partial<DaemonSetStatus> = {},
  ): void {
    const daemonSets = outcome === undefined ? [] : [{ name: "agent", outcome, ...more }];
    const status: ControllerResilienceStatus = { daemonSets };
    const object = this.store.put(makeObject(key, { mode: "Enforce", tokenLifetime: LIFETIME!, ...spec }, status));
    this.#restarts.load(key, object, this.mode);
  }

  gone(key: Key): void {
    this.#restarts.gone(key);
  }

  /** Leads again, after another process has led. */
  leadAgain(keys: Key[]): void {
    this.#restarts.startTerm();
    this.#restarts.expect(keys);
  }

  /** Begins a rollout for an object, or goes on with it. */
  async begin(key: Key, name = "agent", more: { goesOn?: true } = {}): Promise<string> {
    const object = (await this.store.get(key))!;
    const restarts = this.#restarts.settle(new ObjectSession(object, this.store, this.clock));
    const target = { apiVersion: "apps/v1", kind: "DaemonSet", namespace: object.metadata.namespace, name };
    const intent: Intent = {
      verb: "apply",
      target,
      body: {},
      why: "w",
      eventReason: "E",
      rollout: { workload: `DaemonSet/${name}`, ...more },
    };
    const by = makeRemedy(undefined, {
      permissions: [{ apiGroup: "apps", resource: "daemonsets", verbs: ["patch"], why: "w" }],
    });
    const scope = { object, mode: object.spec.mode, log: new RecordingLog(), restarts, mayWrite: () => true };
    const outcome = await this.#executor.execute(by, intent, scope);
    return outcome.result === "Limited" ? `${outcome.limit}: ${outcome.detail ?? ""}` : outcome.result;
  }
}

/** Two objects whose change is planned. */
function planned(): Bench {
  const bench = new Bench();
  for (const key of ["team/a", "shop/b"]) bench.load(key, "Planned");
  return bench;
}

const WAITING =
  "Rollout: waiting for the rollout of DaemonSet/agent by team/a; the operator rolls out one template at a time";

describe("the rollout of a changed template", () => {
  it.each(["Trial", "Rolling"] as const)("waits for one of another object that is %s", async outcome => {
    const bench = new Bench();
    bench.load("team/a", outcome);
    bench.load("shop/b", "Planned");
    expect(await bench.begin("shop/b")).toBe(WAITING);
    expect(await bench.begin("team/a")).toBe("Executed");
    bench.load("team/a", "Bounded");
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it("waits for one of another workload of its object, also if that has just begun", async () => {
    const bench = new Bench();
    bench.load("team/a", "Trial");
    expect(await bench.begin("team/a", "other")).toBe(WAITING);
    bench.load("team/a", "Planned");
    expect(await bench.begin("team/a")).toBe("Executed");
    expect(await bench.begin("team/a", "other")).toBe(WAITING);
  });

  it("waits for one that was begun and is not in status yet, for ten minutes", async () => {
    const bench = planned();
    expect(await bench.begin("team/a")).toBe("Executed");
    expect(await bench.begin("shop/b")).toBe(WAITING);
    bench.load("team/a", "Planned");
    expect(await bench.begin("shop/b")).toBe(WAITING);
    bench.clock.advance(11 * MINUTE);
    bench.load("team/a", "Planned");
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it("waits for one that is being written by another pass, until that is refused", async () => {
    const bench = planned();
    let refuse: (error: Error) => void = () => undefined;
    bench.writer.answer = () => new Promise((_, reject) => (refuse = reject));
    const first = bench.begin("team/a");
    await Promise.resolve();
    expect(await bench.begin("shop/b")).toBe(WAITING);
    refuse(new TerminalError("denied"));
    expect(await first).toBe("Failed");
    bench.writer.answer = () => Promise.resolve();
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it("counts as begun if the answer was lost", async () => {
    const bench = planned();
    bench.writer.answer = () => Promise.reject(new UnavailableError("500", 1_000));
    expect(await bench.begin("team/a")).toBe("Blocked");
    bench.writer.answer = () => Promise.resolve();
    expect(await bench.begin("shop/b")).toBe(WAITING);
  });

  it("waits for a trial that waits, and not for a rollout that is stuck", async () => {
    const bench = planned();
    const more = { waitStartTime: "2025-01-01T00:00:00Z" };
    bench.load("team/a", "Trial", {}, more);
    expect(await bench.begin("shop/b")).toBe(WAITING);
    bench.load("team/a", "Rolling", {}, more);
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it.each(["Rolling", "Unproven"] as const)(
    "waits while one other is stuck, and one is %s and stuck",
    async outcome => {
      const bench = planned();
      const more = { waitStartTime: "2025-01-01T00:00:00Z" };
      bench.load("team/a", "Rolling", {}, more);
      bench.load("team/c", outcome, {}, more);
      expect(await bench.begin("shop/b")).toContain(
        "two rollouts are stuck, of DaemonSet/agent by team/a and of DaemonSet/agent by team/c, which may have a common cause",
      );
      expect(await bench.begin("shop/b", "agent", { goesOn: true })).toBe("Executed");
      bench.load("shop/b", "Bounded");
      bench.load("team/c", "Unproven");
      bench.load("shop/b", "Planned");
      expect(await bench.begin("shop/b")).toBe("Executed");
    },
  );

  it("goes on after its trial one after the other, and two never wait for each other", async () => {
    const bench = new Bench();
    for (const key of ["team/a", "shop/b"]) bench.load(key, "Trial");
    const goOn = (key: Key) => bench.begin(key, "agent", { goesOn: true });
    expect(await goOn("team/a")).toBe("Executed");
    expect(await goOn("shop/b")).toBe(WAITING);
    for (const outcome of ["Trial", "Rolling"] as const) {
      bench.load("team/a", outcome);
      expect(await goOn("shop/b")).toBe(WAITING);
      expect(await goOn("team/a")).toBe("Executed");
    }
    bench.load("team/a", "Rolling", {}, { waitStartTime: "2025-01-01T00:00:00Z" });
    expect(await goOn("shop/b")).toBe("Executed");
    // Both move again, and are to be restored: what is planned holds up nothing.
    bench.load("team/a", "Rolling");
    bench.load("shop/b", "Planned");
    expect(await goOn("shop/b")).toBe(WAITING);
    bench.load("team/a", "Planned");
    expect(await goOn("shop/b")).toBe("Executed");
  });

  it("waits for no object that is gone, suspended, in Observe mode, or without such a block", async () => {
    const bench = new Bench();
    bench.load("shop/b", "Planned");
    bench.load("team/a", "Rolling", { suspend: true });
    bench.load("team/b", "Rolling", { mode: "Observe" });
    bench.load("team/c", "Rolling", { tokenLifetime: undefined as never });
    bench.load("team/d", "Rolling");
    bench.gone("team/d");
    bench.mode = "NamespaceSkipped";
    bench.load("team/e", "Rolling");
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it("waits for no object that has gone while another process led", async () => {
    const bench = new Bench();
    bench.load("team/a", "Trial");
    bench.leadAgain(["shop/b"]);
    bench.load("shop/b", "Planned");
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it("waits for one that was begun in an earlier term no longer than otherwise", async () => {
    const bench = planned();
    expect(await bench.begin("team/a")).toBe("Executed");
    bench.leadAgain(["shop/b"]);
    bench.load("shop/b", "Planned");
    expect(await bench.begin("shop/b")).toBe(WAITING);
    bench.clock.advance(11 * MINUTE);
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it("waits until a new leader has loaded every object", async () => {
    const bench = new Bench(["team/a"]);
    bench.load("shop/b", "Planned");
    expect(await bench.begin("shop/b")).toBe("LeaderWarmup: ");
    bench.load("team/a");
    expect(await bench.begin("shop/b")).toBe("Executed");
  });

  it.each([
    ["has trouble of its own", { sinceOwnTroubleMs: 0 }],
    ["has a clock that is off", { clockTrouble: "it is off" }],
  ])("neither begins nor goes on after its trial while the operator %s", async (_, trouble) => {
    const bench = new Bench();
    bench.load("team/a", "Trial");
    bench.load("shop/b", "Trial");
    const tries = async () => [await bench.begin("shop/b"), await bench.begin("shop/b", "agent", { goesOn: true })];
    Object.assign(bench, trouble);
    expect(await tries()).toEqual([expect.stringMatching("^OwnTrouble: "), expect.stringMatching("^OwnTrouble: ")]);
    Object.assign(bench, { sinceOwnTroubleMs: Infinity, clockTrouble: null });
    expect(await tries()).toEqual([WAITING, "Executed"]);
  });
});
