/** The number of checks, and their failures as sentences. */
export class Tally {
  readonly failures: string[] = [];
  #times = 0;

  get times(): number {
    return this.#times;
  }

  /** Adds a check with its failures. */
  note(name: string, failures: readonly string[]): void {
    this.#times++;
    this.failures.push(...failures.map(line => `${name}: ${line}`));
  }
}
