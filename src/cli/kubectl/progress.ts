import type { Clock } from "../../core/clock";
import { count } from "../../core/count";
import type { Io } from "./io";

/** Work that takes longer than this is reported. */
const AFTER_MS = 2_000;
const EVERY_MS = 200;

/** A line on standard error that says what a command is doing, if it takes long and standard error is a terminal. */
export class Progress {
  readonly #stderr: Io["stderr"];
  readonly #clock: Clock;
  readonly #steps = new Map<string, number>();
  #shown = false;
  #cancel: (() => void) | undefined;

  constructor({ stderr }: Pick<Io, "stderr">, clock: Clock) {
    this.#stderr = stderr;
    this.#clock = clock;
    if (stderr.isTTY === true) this.#cancel = clock.after(AFTER_MS, () => this.#show());
  }

  /** Notes that a step, such as `list pods`, has handled this many things so far. */
  step(what: string, count: number): void {
    this.#steps.set(what, count);
  }

  /** Removes the line. */
  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#shown) this.#stderr.write("\r\x1b[K");
    this.#shown = false;
  }

  #show(): void {
    const [what, items] = [...this.#steps].at(-1) ?? ["", 0];
    const done = [...this.#steps.values()].reduce((sum, one) => sum + one, 0);
    const text = what === "" ? "waiting for the cluster" : `${what}: ${items}; ${count(done, "object")} read`;
    this.#stderr.write(`\r\x1b[K${text.slice(0, 79)}`);
    this.#shown = true;
    this.#cancel = this.#clock.after(EVERY_MS, () => this.#show());
  }
}
