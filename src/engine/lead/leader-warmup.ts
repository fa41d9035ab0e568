import type { Key } from "../../core/ports";
import { KnownKeys } from "../loop/known-keys";

/** Few, so that one namespace does not put itself before all others; it is asked again every few seconds. */
const ASKED_AT_ONCE = 10;

/**
 * What a new leader has to hear before it restarts anything: the budgets of a workload count what every object of its namespace tells of restarts
 * (docs/adr/0010-budget-restarts-per-workload.md), and a leader that begins knows of none, or knows what was so when it led last.
 */
export class LeaderWarmup {
  readonly #ask: (key: Key) => void;
  /** Those that have not answered yet; undefined until it is known who is to. */
  #missing: KnownKeys | undefined;

  /** `ask` is to have an object read soon. */
  constructor(ask: (key: Key) => void) {
    this.#ask = ask;
  }

  /** A term of leadership begins: nobody has answered. */
  begin(): void {
    this.#missing = undefined;
  }

  /** These are all objects. Later lists of the same term don't matter: who is new in them had its passes since. */
  call(keys: readonly Key[]): void {
    if (this.#missing !== undefined) return;
    this.#missing = new KnownKeys(() => undefined);
    this.#missing.addAll(keys);
  }

  /** What that object tells is known, or it is gone. */
  answered(key: Key): void {
    this.#missing?.remove(key);
  }

  /** Whether all objects of that namespace have answered. */
  isCompleteIn(namespace: string): boolean {
    return this.#missing?.in(namespace).length === 0;
  }

  /** Has some of those read that have not: else they would wait for their turn among all objects. */
  askMissingIn(namespace: string): void {
    for (const key of this.#missing?.in(namespace).slice(0, ASKED_AT_ONCE) ?? []) this.#ask(key);
  }
}
