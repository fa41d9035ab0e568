import type { TokenRestartSpec } from "../../api/controller-resilience";
import { createFinder, findByClass, type Finder } from "../../logs/detector";
import type { FindUnauthorized } from "../../logs/reading/container-log";
import { ruleOf } from "../../remedies/token-restart/observe";
import {
  persistenceOf,
  NO_TRACE,
  withLine,
  withUnauthorized,
  type PersistenceRule,
  type Persistence,
} from "../../logs/persistence";

/** The detection of tokenRestart with one spec. */
export interface Detector {
  readonly finder: Finder;
  readonly rule: PersistenceRule;
}

/** Returns the detection of tokenRestart with this spec. */
export function createDetector(spec: TokenRestartSpec): Detector {
  return { finder: spec.evidence.includes("Logs") ? createFinder(spec.extraPhrases) : BLIND, rule: ruleOf(spec) };
}

/** For a spec whose evidence does not include Logs. */
const findNothing: FindUnauthorized = (_, onRecord) => findByClass(Buffer.alloc(0), onRecord);
const BLIND = { find: findNothing, isUnauthorized: () => false };

/** The moment at which tokenRestart would have acted, and why. */
export interface Action {
  readonly atMs: number;
  readonly persistence: Persistence;
  /** Start times of the counted occasions. */
  readonly occasionsMs: readonly number[];
}

/** Replays one container's log, record by record. Checks persistence after each 401. */
export class Replay {
  #trace = NO_TRACE;
  #action: Action | undefined;
  readonly #rule: PersistenceRule;

  constructor(rule: PersistenceRule) {
    this.#rule = rule;
  }

  /** The first action; undefined if tokenRestart would not have acted so far. */
  get action(): Action | undefined {
    return this.#action;
  }

  /** Start times of the remembered occasions. */
  get occasionsMs(): readonly number[] {
    return this.#trace.occasions.map(occasion => occasion.startMs);
  }

  /** Adds a record that is no 401. */
  line(atMs: number, life: number): void {
    this.#trace = withLine(this.#trace, atMs, life);
  }

  /** Adds a 401. */
  unauthorized(atMs: number, life: number): void {
    this.#trace = withUnauthorized(this.#trace, atMs, life);
    if (this.#action !== undefined) return;
    const persistence = persistenceOf(this.#trace, this.#rule, atMs);
    if (persistence.state !== "persistent") return;
    const occasionsMs = this.occasionsMs.filter(ms => ms >= (persistence.firstMs ?? 0) && ms <= atMs);
    this.#action = { atMs, persistence, occasionsMs };
  }
}
