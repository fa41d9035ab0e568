import { createHash } from "node:crypto";
import { checkBindings, checkRenewals } from "./checker/bindings";
import { checkConditions, conditionsIn } from "./checker/conditions";
import { checkFlows } from "./checker/flows";
import { checkGenerated } from "./checker/generated";
import { checkHealing } from "./checker/healing";
import { checkLeftovers } from "./checker/leftovers";
import { Memory } from "./checker/memory";
import { checkProgress } from "./checker/progress";
import { checkQuiet } from "./checker/quiet";
import { checkRecords } from "./checker/records";
import { checkRestarts } from "./checker/restarts";
import { type Entry, onEviction, type Report, type Violation } from "./checker/sight";
import { checkTexts, checkWrites } from "./checker/writes";
import { checkTrials } from "./checker/trials";
import type { Covered } from "./coverage";
import { Story } from "./story";
import { Dice } from "./time";
import { schedule } from "./world/happenings";
import type { Plan } from "./world/plan";
import { World } from "./world/world";

/** The outcome of a world. */
export interface Outcome {
  readonly plan: Plan;
  readonly violations: readonly Violation[];
  /** Of all requests and answers: the same for the same plan. */
  readonly hash: string;
  readonly requests: number;
  /** Evictions of pods that a restart heals, and of others. */
  readonly evictions: { readonly right: number; readonly wrong: number };
  /** By cause: how long each pod that a restart heals was dead, in milliseconds. */
  readonly heals: readonly { readonly cause: string; readonly ms: number }[];
  readonly covered: Covered;
  readonly story: readonly string[];
}

/** Violations that are kept of one world: the first say the most. */
const KEPT = 20;

/** A world says so often how far it is, and one that ends at its first broken promise looks for one. */
const STEP_MS = 300_000;

/** Runs a world to its end; a hasty one until a promise is broken. Who hears of its steps gets no story. */
export async function simulate(plan: Plan, isHasty = false, onStep?: () => void): Promise<Outcome> {
  const world = new World(plan);
  const violations: Violation[] = [];
  const story = new Story(world, onStep === undefined);
  const report: Report = (promise, sentence) => {
    if (violations.length >= KEPT) return;
    violations.push({ promise, atMs: world.clock.monotonicMs(), sentence });
    story.broken(promise, sentence);
  };
  const tally = new Tally(world);
  const memory = new Memory(world);
  checkRestarts(world, memory, report);
  checkRecords(world, memory, report);
  checkWrites(world, report);
  checkBindings(world, report);
  checkFlows(world, report);
  checkGenerated(world, report);
  checkTrials(world, report);
  checkHealing(world, report);
  checkConditions(world, report);
  checkProgress(world, report);
  checkLeftovers(world, report);
  const endTexts = checkTexts(world, report);
  const endQuiet = checkQuiet(world, report);
  schedule(world, new Dice(plan.seed).fork("happenings"), text => story.add(text));
  world.start();
  for (let atMs = STEP_MS; violations.length === 0 || !isHasty; atMs += STEP_MS) {
    await world.clock.run(Math.min(atMs, plan.lastsMs));
    if (atMs >= plan.lastsMs) break;
    onStep?.();
  }
  if (!isHasty || violations.length === 0) {
    checkRenewals(world, report);
    endQuiet();
    endTexts();
  }
  story.end();
  world.end();
  return { plan, violations, story: story.lines, ...tally.result() };
}

/** Characters; hashing few at a time costs more than they do. */
const HASHED_AT_ONCE = 16_384;

/** Counts what a world saw. */
class Tally {
  readonly #hash = createHash("sha256");
  /** Reasons of conditions that were written. */
  readonly #reasons = new Set<string>();
  readonly #heals: { readonly cause: string; readonly ms: number }[] = [];
  readonly #dead = new Map<string, { readonly cause: string; readonly sinceMs: number }>();
  /** What is not hashed yet. */
  #heard = "";
  #requests = 0;
  #right = 0;
  #wrong = 0;

  constructor(private readonly world: World) {
    world.onRequest(entry => this.#count(entry));
    onEviction(world, ({ metadata: { uid } }) => {
      if (world.truths().some(truth => truth.uid === uid && truth.healedByRestart)) this.#right++;
      else this.#wrong++;
    });
    world.clock.every(5_000, () => this.#look());
  }

  #count(entry: Entry): void {
    const { atMs, from, verb, resource, subresource, namespace, name, code, body, after } = entry;
    this.#requests++;
    this.#heard += `${atMs} ${from} ${verb} ${resource} ${subresource} ${namespace} ${name} ${code} ${body}\n`;
    if (this.#heard.length > HASHED_AT_ONCE) this.#hashHeard();
    if (subresource === "status") for (const { reason } of conditionsIn(after)) this.#reasons.add(reason);
  }

  #hashHeard(): void {
    this.#hash.update(this.#heard);
    this.#heard = "";
  }

  result(): Pick<Outcome, "hash" | "requests" | "evictions" | "heals" | "covered"> {
    const { plan, faults } = this.world;
    this.#hashHeard();
    return {
      hash: this.#hash.digest("hex").slice(0, 16),
      requests: this.#requests,
      evictions: { right: this.#right, wrong: this.#wrong },
      heals: this.#heals,
      covered: {
        happenings: plan.happenings.map(({ what }) => what),
        faults: Object.fromEntries(faults.hits),
        programs: plan.workloads.flatMap(({ program, shard, sidecar }) =>
          [program, shard, sidecar].filter(one => one !== undefined),
        ),
        reasons: [...this.#reasons],
      },
    };
  }

  #look(): void {
    const nowMs = this.world.clock.monotonicMs();
    const seen = new Set<string>();
    for (const { uid, container, healedByRestart, cause } of this.world.truths()) {
      if (!healedByRestart) continue;
      const key = `${uid} ${container}`;
      seen.add(key);
      if (!this.#dead.has(key)) this.#dead.set(key, { cause, sinceMs: nowMs });
    }
    for (const [key, { cause, sinceMs }] of this.#dead) {
      if (seen.has(key)) continue;
      this.#dead.delete(key);
      this.#heals.push({ cause, ms: nowMs - sinceMs });
    }
  }
}
