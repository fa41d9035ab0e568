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
import { SpecError } from "./spec-file";

/** What a spec makes of logs: the finder and the rule of the remedy itself. */
export interface Detector {
  readonly finder: Exclude<Finder, { invalid: string }>;
  readonly rule: PersistenceRule;
}

/** @throws SpecError when a pattern is not valid */
export function createDetector(spec: TokenRestartSpec): Detector {
  const finder = createFinder(spec.extraPatterns);
  if ("invalid" in finder) throw new SpecError(finder.invalid);
  return { finder: spec.evidence.includes("Logs") ? finder : BLIND, rule: ruleOf(spec) };
}

/** Without Logs among the evidence no log makes it act. */
const findNothing: FindUnauthorized = (_, onRecord) => findByClass(Buffer.alloc(0), onRecord);
const BLIND = { find: findNothing, isUnauthorized: () => false };

/** When it would have acted. */
export interface Action {
  readonly atMs: number;
  readonly verdict: Persistence;
  /** Beginnings of the occasions that were counted, in milliseconds. */
  readonly occasionsMs: readonly number[];
}

/** One container's log, record by record. Only a 401 can make it act, so it is judged at each of them. */
export class Replay {
  #trace = NO_TRACE;
  #action: Action | undefined;
  readonly #rule: PersistenceRule;

  constructor(rule: PersistenceRule) {
    this.#rule = rule;
  }

  /** The first moment at which it would have acted, if any. */
  get action(): Action | undefined {
    return this.#action;
  }

  /** The occasions that are remembered. */
  get occasionsMs(): readonly number[] {
    return this.#trace.occasions.map(occasion => occasion.startMs);
  }

  /** What it amounts to at a moment. */
  verdict(nowMs: number): Persistence {
    return persistenceOf(this.#trace, this.#rule, nowMs);
  }

  /** A record that is no 401. */
  line(atMs: number, life: number): void {
    this.#trace = withLine(this.#trace, atMs, life);
  }

  /** A record that is one. */
  unauthorized(atMs: number, life: number): void {
    this.#trace = withUnauthorized(this.#trace, atMs, life);
    if (this.#action !== undefined) return;
    const verdict = this.verdict(atMs);
    if (verdict.state !== "persistent") return;
    const occasionsMs = this.occasionsMs.filter(ms => ms >= (verdict.firstMs ?? 0) && ms <= atMs);
    this.#action = { atMs, verdict, occasionsMs };
  }
}
