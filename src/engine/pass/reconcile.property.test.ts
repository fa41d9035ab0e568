import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConditionType } from "../../api/conditions";
import type { ControllerResilienceSpec } from "../../api/controller-resilience";
import {
  ConflictError,
  ForbiddenError,
  GoneError,
  TerminalError,
  TransientError,
  UnauthorizedError,
  WaitError,
} from "../../core/errors";
import type { Intent } from "../../core/intent";
import type { Remedy } from "../../core/remedy";
import { FakeClock } from "../../core/testing/fake-clock";
import { makeObject, MemoryObjects } from "../testing/fakes";
import { makeReconciler } from "../testing/reconciler";
import {
  makeClaim,
  makeDecision,
  makeEviction,
  makePatch,
  makeReaders,
  makeRemedy,
  specWith,
} from "../testing/remedies";

const KEY = "team/app";
const hang = () => new Promise<never>(() => undefined);

const anError = fc.constantFrom<unknown>(
  new TransientError("reset"),
  new WaitError("no", 3_000),
  new TerminalError("invalid"),
  new ForbiddenError("evict"),
  new UnauthorizedError("401"),
  new ConflictError("changed"),
  new GoneError("gone"),
  new TypeError("a bug"),
  "a string",
  undefined,
);

/** What a call to the outside may do: answer, fail, hang, or take away the lead while it is under way. */
const fate = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: "answer" as const, error: undefined as unknown }) },
  { weight: 2, arbitrary: anError.map(error => ({ kind: "fail" as const, error })) },
  { weight: 1, arbitrary: fc.constant({ kind: "hang" as const, error: undefined as unknown }) },
  { weight: 1, arbitrary: fc.constant({ kind: "lose the lead" as const, error: undefined as unknown }) },
);

const intent: fc.Arbitrary<Intent> = fc
  .record({
    pod: fc.constantFrom("app-1", "app-2", "b-1"),
    kind: fc.constantFrom("evict", "patch", "evict elsewhere", "evict without claim", "delete", "skip"),
  })
  .map(({ pod, kind }) => {
    const eviction = makeEviction(pod, { restart: makeClaim(pod, { workload: `Deployment/${pod.slice(0, -2)}` }) });
    if (kind === "patch") return makePatch(pod);
    if (kind === "delete") return makePatch(pod, { verb: "delete" });
    if (kind === "skip") return { ...eviction, skip: true };
    if (kind === "evict elsewhere") return { ...eviction, target: { ...eviction.target, namespace: "other" } };
    return eviction;
  });

const goodDecision = fc
  .record({
    status: fc.constantFrom("True" as const, "False" as const),
    intents: fc.array(intent, { maxLength: 4 }),
    recheckAfterMs: fc.option(fc.oneof(fc.double(), fc.nat(100_000)), { nil: undefined }),
    progressing: fc.boolean(),
  })
  .map(({ recheckAfterMs, ...rest }) =>
    makeDecision({ ...rest, ...(recheckAfterMs === undefined ? {} : { recheckAfterMs }) }),
  );
const anyDecision: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: goodDecision },
  { weight: 1, arbitrary: fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(goodDecision, fc.constantFrom("status", "reason", "message"), fc.anything())
      .map(([decision, field, value]) => ({ ...decision, [field]: value })),
  },
);

interface Behaviour {
  readonly observe: "answer" | "throw" | "reject" | "hang";
  readonly error: unknown;
  /** A decision for each pass; `decide` throws where there is none. */
  readonly decisions: readonly unknown[];
  readonly conclude: "none" | "same" | "throw" | "nonsense";
}

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  observe: fc.constantFrom(
    "answer" as const,
    "answer" as const,
    "answer" as const,
    "throw" as const,
    "reject" as const,
    "hang" as const,
  ),
  error: anError,
  decisions: fc.array(anyDecision, { maxLength: 4 }),
  conclude: fc.constantFrom("none" as const, "same" as const, "throw" as const, "nonsense" as const),
});

function makeRemedyOf({ observe, error, decisions, conclude }: Behaviour): Remedy {
  let next = 0;
  return makeRemedy(makeDecision(), {
    observe: () => {
      if (observe === "throw") throw error;
      if (observe === "reject") return Promise.reject(error as Error);
      return observe === "hang" ? hang() : Promise.resolve("facts");
    },
    decide: () => {
      if (next >= decisions.length) throw new Error("a bug");
      return decisions[next++] as never;
    },
    ...(conclude !== "none" && {
      conclude: decision => {
        if (conclude === "throw") throw new Error("a bug");
        return conclude === "same" ? decision : (17 as never);
      },
    }),
  });
}

/** The world around a pass, with what must never happen written down while it happens. */
class World {
  readonly clock = new FakeClock();
  readonly store = new MemoryObjects();
  readonly faults: string[] = [];
  readonly restartTimes: number[] = [];
  leads = true;
  readonly #fates: { kind: string; error: unknown }[];

  constructor(
    readonly spec: Partial<ControllerResilienceSpec>,
    fates: readonly { kind: string; error: unknown }[],
  ) {
    this.#fates = [...fates];
    this.store.put(makeObject(KEY, spec));
    const { writeStatus } = this.store;
    this.store.writeStatus = async (object, status) => {
      if (!this.leads) this.faults.push("status written without the lead");
      await this.#meetFate();
      return writeStatus(object, status);
    };
    const { get } = this.store;
    this.store.get = async key => {
      await this.#meetFate();
      return get(key);
    };
  }

  write = async (wanted: Intent): Promise<void> => {
    this.#check(wanted);
    await this.#meetFate();
    // A write that hangs or fails may still happen, so its time counts from here.
    if (wanted.restart) this.restartTimes.push(this.clock.monotonicMs());
  };

  #check(wanted: Intent): void {
    const restarts = this.store.objects.get(KEY)?.status?.restarts ?? [];
    const entry = restarts.findLast(({ podUID }) => podUID === wanted.restart?.podUID);
    const faults: Record<string, boolean | undefined> = {
      "written without the lead": !this.leads,
      "written in Observe mode": this.spec.mode === "Observe",
      "written while suspended": this.spec.suspend,
      "written in spite of the skip annotation": wanted.skip,
      "written without the right": wanted.verb === "delete",
      "written in another namespace": wanted.target.namespace !== "team",
      "restarted without a Requested entry in status": wanted.restart && entry?.outcome !== "Requested",
    };
    this.faults.push(...Object.keys(faults).filter(fault => faults[fault]));
  }

  async #meetFate(): Promise<void> {
    const { kind, error } = this.#fates.shift() ?? { kind: "answer", error: undefined };
    if (kind === "hang") await hang();
    if (kind === "lose the lead") this.leads = false;
    await Promise.resolve();
    if (kind === "fail") throw error;
  }
}

function spacing(times: readonly number[]): number {
  return Math.min(Infinity, ...times.slice(1).map((time, i) => time - times[i]!));
}

describe("a pass, whatever remedies and the API do", () => {
  const modes = fc.record({
    mode: fc.constantFrom("Enforce" as const, "Enforce" as const, "Enforce" as const, "Observe" as const),
    suspend: fc.constantFrom(false, false, false, true),
  });

  it(
    "never throws, leaves other remedies alone, and writes only what may be written, restarts only after they are written down",
    { timeout: 60_000 },
    async () => {
      let restarts = 0;
      await fc.assert(
        fc.asyncProperty(behaviour, modes, fc.array(fate, { maxLength: 16 }), async (of, mode, fates) => {
          const world = new World({ ...specWith("tokenRestart", "flowIsolation"), ...mode }, fates);
          const healthy = makeRemedy(makeDecision(), {
            block: "flowIsolation",
            condition: ConditionType.FlowsIsolated,
          });
          const reconciler = makeReconciler({
            store: world.store,
            writer: world,
            readers: makeReaders(world.clock),
            remedies: [makeRemedyOf(of), healthy],
          });
          world.clock.advance(10_000);
          for (let pass = 0; pass < 5; pass++) {
            const writes = world.store.writes.length;
            const result = reconciler.reconcile(KEY, () => world.leads);
            await world.clock.run(700_000);
            expect(await result).toHaveProperty("next");
            const condition = world.store.writes
              .at(-1)
              ?.status.conditions?.find(({ type }) => type === "FlowsIsolated");
            // The last write of a pass that ended well has conditions; one before a restart may not have them yet.
            if (world.store.writes.length > writes && condition && !mode.suspend) expect(condition.status).toBe("True");
          }
          restarts += world.restartTimes.length;
          expect(world.faults).toEqual([]);
          expect(spacing(world.restartTimes)).toBeGreaterThanOrEqual(10_000);
        }),
        { numRuns: 400 },
      );
      // The property would hold for an engine that does nothing.
      expect(restarts).toBeGreaterThan(15);
    },
  );
});
