/** How often something was put to the test, and what was not as promised: sentences. */
export class Tally {
  readonly failures: string[] = [];
  #times = 0;

  get times(): number {
    return this.#times;
  }

  /** One more, with what was wrong about it. */
  note(name: string, failures: readonly string[]): void {
    this.#times++;
    this.failures.push(...failures.map(line => `${name}: ${line}`));
  }
}
