import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RestartStatus, TargetStatus, TokenRestartSpec } from "../../api/controller-resilience";
import { parseDuration } from "../../core/time";
import type { Intent } from "../../core/intent";
import { checkRestartBudget, isOpen, requestedRestart } from "../../restarts/history";
import { intentsOf } from "../../core/testing/remedy-sample";
import type { ObservedPod, Observed } from "./observed";
import { planRestarts } from "./plan";
import { pod } from "./testing/fake-log";
import { DEFAULTS, workload } from "./testing/scene";

const STEP_MS = 30_000;
const START_MS = Date.parse("2025-01-01T12:00:00Z");
const COOLDOWN_MS = parseDuration(DEFAULTS.cooldown);
const WINDOW_MS = 3_600_000;

/** The successor of a restarted pod: healthy, not Ready yet, rejected too, or none; or the pod stays. */
type Fate = "healthy" | "late" | "rejected" | "none" | "stays";
type Event = "quiet" | "recreated" | "spec changed" | "all answered 401";

interface Restart {
  readonly ms: number;
  /** Uid of the recreated ServiceAccount; absent where nothing is proven. */
  readonly account?: string;
  /** Creation of the restarted pod. */
  readonly createdMs: number;
}

/** A workload of three pods, with a pass every 30 s. */
class World {
  readonly restarts: Restart[] = [];
  readonly #spec: TokenRestartSpec;
  #ms = START_MS;
  #accounts = 0;
  #generation = 1;
  #made = 0;
  #pods: ObservedPod[];
  #history: readonly RestartStatus[] = [];
  #targets: readonly TargetStatus[] = [];

  constructor(spec: Partial<TokenRestartSpec>) {
    this.#spec = { ...DEFAULTS, ...spec };
    this.#pods = [1, 2, 3].map(() => this.#newPod("healthy"));
  }

  /** Open restarts in status. */
  get open(): number {
    return this.#history.filter(entry => isOpen(entry)).length;
  }

  /** An event, then a pass whose intents all have the same fate. */
  step(event: Event, fate: Fate): void {
    this.#ms += STEP_MS;
    this.#apply(event);
    const now = new Date(this.#ms);
    const plan = planRestarts(this.#observed(), this.#spec, now, []);
    this.#history = plan.restarts;
    this.#targets = plan.items.map(({ target }) => target);
    for (const intent of intentsOf(plan)) this.#execute(intent, fate, now);
  }

  #apply(event: Event): void {
    if (event === "recreated") {
      const uid = `sa-${++this.#accounts}`;
      this.#pods = this.#pods.map(one => withProof(one, uid, this.#ms));
    }
    if (event === "all answered 401") this.#pods = this.#pods.map(one => rejected(one, this.#ms));
    if (event === "spec changed") this.#generation++;
  }

  /** Executes an intent as the executor does. */
  #execute({ restart }: Intent, fate: Fate, now: Date): void {
    if (restart === undefined || checkRestartBudget(this.#history, restart, now) !== undefined) return;
    this.#history = [...this.#history, { ...requestedRestart(restart, now), outcome: "Restarted" }];
    const createdMs = this.#pods.find(({ view }) => view.uid === restart.podUID)?.view.createdAtMs ?? 0;
    const account = restart.serviceAccountUID;
    this.restarts.push({ ms: this.#ms, createdMs, ...(account === undefined ? {} : { account }) });
    this.#replace(restart.podUID, fate);
  }

  #replace(uid: string, fate: Fate): void {
    if (fate === "stays") return;
    this.#pods = this.#pods.filter(({ view }) => view.uid !== uid);
    if (fate !== "none") this.#pods.push(this.#newPod(fate));
  }

  #newPod(fate: Fate): ObservedPod {
    const uid = `uid-${this.#made++}`;
    const ready = { ready: fate !== "late", readySinceMs: this.#ms + 1_000 };
    const view = pod({ uid, name: `web-${uid}`, createdAtMs: this.#ms, ...ready });
    const logs = { state: "quiet", occasions: 0 } as const;
    const quiet: ObservedPod = { view, logs, serviceAccount: "present", readMs: Infinity, unreadable: false };
    return fate === "rejected" ? rejected(quiet, this.#ms) : quiet;
  }

  #observed(): Observed {
    const view = workload({ replicas: 3 });
    return {
      generation: this.#generation,
      mode: "Enforce",
      restarts: this.#history,
      previousTargets: this.#targets,
      missingTargets: [],
      workloads: [{ view, pods: this.#pods }],
      ambiguousNodes: [],
      oneSidedNodes: [],
      problems: [],
    };
  }
}

function withProof(pod: ObservedPod, serviceAccountUID: string, sinceMs: number): ObservedPod {
  return { ...pod, proof: { cause: "ServiceAccountRecreated", serviceAccountUID, sinceMs, alone: true } };
}

function rejected(pod: ObservedPod, ms: number): ObservedPod {
  return { ...pod, logs: { state: "persistent", occasions: 9, firstMs: ms - STEP_MS, lastMs: ms } };
}

/** Events with quiet time in between. */
function scripts(...events: readonly Event[]): fc.Arbitrary<{ event: Event; fate: Fate }[]> {
  const episode = fc.record({
    afterSteps: fc.integer({ min: 0, max: 60 }),
    event: fc.constantFrom(...events),
    fate: fc.constantFrom<Fate>("healthy", "healthy", "healthy", "late", "rejected", "none", "stays"),
  });
  return fc
    .array(episode, { minLength: 4, maxLength: 16 })
    .map(all =>
      all.flatMap(({ afterSteps, event, fate }) => [
        ...Array.from({ length: afterSteps }, () => ({ event: "quiet" as const, fate })),
        { event, fate },
      ]),
    );
}

const limits = fc.record({
  maxRestarts: fc.integer({ min: 1, max: 3 }),
  maxUnavailable: fc.integer({ min: 1, max: 3 }),
});

/** Largest number within one budget window. */
function mostIn(restarts: readonly Restart[], count: (recent: readonly Restart[]) => number): number {
  return Math.max(
    0,
    ...restarts.map(({ ms }) => count(restarts.filter(one => one.ms <= ms && ms - one.ms < WINDOW_MS))),
  );
}

function accounts(restarts: readonly Restart[]): number {
  return new Set(restarts.flatMap(({ account }) => account ?? [])).size;
}

function unproven(restarts: readonly Restart[]): Restart[] {
  return restarts.filter(({ account }) => account === undefined);
}

/** Length of the longest chain of unproven restarts in which each pod is younger than the restart before. */
function longestChain(restarts: readonly Restart[]): number {
  const lengths = new Map<Restart, number>();
  for (const one of unproven(restarts)) {
    const before = [...lengths].filter(([{ ms }]) => ms <= one.createdMs);
    lengths.set(one, 1 + Math.max(0, ...before.map(([, length]) => length)));
  }
  return Math.max(0, ...lengths.values());
}

describe("for any sequence of events", () => {
  it("restarts within the budget of each cause, with at most maxUnavailable pods at a time", () => {
    let together = 0;
    const property = fc.property(limits, scripts("recreated", "all answered 401"), (spec, script) => {
      const world = new World(spec);
      for (const { event, fate } of script) {
        world.step(event, fate);
        expect(world.open).toBeLessThanOrEqual(spec.maxUnavailable);
      }
      expect(mostIn(world.restarts, accounts)).toBeLessThanOrEqual(spec.maxRestarts);
      expect(mostIn(world.restarts, longestChain)).toBeLessThanOrEqual(Math.min(2, spec.maxRestarts));
      together += world.restarts.length - accounts(world.restarts);
    });
    fc.assert(property, { numRuns: 100 });
    expect(together).toBeGreaterThan(5);
  });

  it("keeps the cooldown within each cause, also when a change of the spec grants new restarts", () => {
    let afterChange = 0;
    const events = ["recreated", "all answered 401", "spec changed", "spec changed"] as const;
    const property = fc.property(limits, scripts(...events), (spec, script) => {
      const world = new World(spec);
      for (const { event, fate } of script) world.step(event, fate);
      const proven = world.restarts.filter(({ account }) => account !== undefined);
      for (const [i, { ms, account }] of proven.entries()) {
        const before = proven[i - 1];
        if (before !== undefined && before.account !== account)
          expect(ms - before.ms).toBeGreaterThanOrEqual(COOLDOWN_MS);
      }
      for (const one of unproven(world.restarts)) {
        const before = unproven(world.restarts).findLast(({ ms }) => ms <= one.createdMs && ms < one.ms);
        if (before !== undefined) expect(one.ms - before.ms).toBeGreaterThanOrEqual(COOLDOWN_MS);
      }
      if (mostIn(world.restarts, accounts) > spec.maxRestarts) afterChange++;
    });
    fc.assert(property, { numRuns: 100 });
    expect(afterChange).toBeGreaterThan(0);
  });
});
