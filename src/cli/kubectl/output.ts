import { stringify } from "yaml";
import { write } from "../streams";
import { terminalText } from "../terminal-text";
import { columnsOf, type Io, type Paint, paintFor } from "./io";

/** Values of `-o`. Without it a command prints text for people. */
export type Format = "json" | "yaml" | "wide" | "html";

/** Writes what a command has found to standard output, without characters of a cluster's texts that a terminal may obey. */
export class Output {
  readonly paint: Paint;
  /** Infinity for `-o wide`: lines are not wrapped. */
  readonly columns: number;
  readonly #io: Io;

  constructor(io: Io, format?: Format) {
    this.#io = io;
    this.paint = paintFor(io);
    this.columns = format === "wide" ? Infinity : columnsOf(io.stdout);
  }

  async text(text: string): Promise<void> {
    const safe = terminalText(text, { keepStyles: this.paint("bold", "") !== "" });
    await write(this.#io.stdout, safe.endsWith("\n") ? safe : `${safe}\n`);
  }

  /** Writes a sentence to standard error, so that standard output has data only. */
  async note(text: string): Promise<void> {
    await write(this.#io.stderr, `${terminalText(text)}\n`);
  }

  async data(value: unknown, format: "json" | "yaml"): Promise<void> {
    // Long messages stay on one line, so that they can be searched.
    await this.text(format === "json" ? JSON.stringify(value, null, 2) : stringify(value, { lineWidth: 0 }));
  }
}
