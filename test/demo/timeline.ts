import { styleText } from "node:util";

/** Colours of the timeline's second column. */
export type Tone = "plain" | "bad" | "good" | "busy";

const STYLES = { plain: "reset", bad: "red", good: "green", busy: "yellow" } as const;

/** Prints what happens, with the seconds since the zero that was set; each line once. */
export class Timeline {
  private zeroMs: number | undefined;
  private readonly said = new Set<string>();

  constructor(private readonly print: (line: string) => void = line => process.stdout.write(`${line}\n`)) {}

  /** What is printed from now on carries seconds since this moment. */
  setZero(): void {
    this.zeroMs = performance.now();
  }

  /** Seconds since zero. */
  get seconds(): number {
    return this.zeroMs === undefined ? 0 : (performance.now() - this.zeroMs) / 1000;
  }

  /** One line: who, and what happened. Said before: not said again. Returns whether it was new. */
  say(who: string, what: string, tone: Tone = "plain"): boolean {
    const key = `${who}|${what}`;
    if (this.said.has(key)) return false;
    this.said.add(key);
    const time = this.zeroMs === undefined ? "" : `+${this.seconds.toFixed(1)}s`;
    this.print(`${time.padStart(8)}  ${paint(who.padEnd(14), tone)} ${what}`);
    return true;
  }

  /** A heading. */
  heading(text: string): void {
    this.print(`\n${paint(text, "plain", true)}`);
  }

  /** Text as it is, indented. */
  quote(text: string): void {
    text
      .trimEnd()
      .split("\n")
      .forEach(line => this.print(`    ${line}`));
  }
}

function paint(text: string, tone: Tone, bold = false): string {
  if (!process.stdout.isTTY) return text;
  return styleText(bold ? "bold" : STYLES[tone], text);
}
