import { styleText } from "node:util";

/** Colours of the timeline's second column. */
export type Tone = "plain" | "bad" | "good" | "busy";

const STYLES = { plain: "reset", bad: "red", good: "green", busy: "yellow" } as const;

/** A line of the timeline: who did what, in seconds since zero. */
export interface Told {
  readonly seconds: number;
  readonly who: string;
  readonly what: string;
  readonly tone: Tone;
}

/** Prints what happens, with the seconds since zero. */
export class Timeline {
  private zeroMs: number | undefined;
  private readonly lines: Told[] = [];
  private readonly said = new Set<string>();
  private readonly states = new Map<string, string>();

  constructor(private readonly print: (line: string) => void = line => process.stdout.write(`${line}\n`)) {}

  /** Sets zero: later lines show the seconds since this moment. */
  setZero(): void {
    this.zeroMs = performance.now();
  }

  /** Seconds since zero. */
  get seconds(): number {
    return this.zeroMs === undefined ? 0 : (performance.now() - this.zeroMs) / 1000;
  }

  /** Prints who did what, unless the same line was printed before. Returns whether it was new. */
  say(who: string, what: string, tone: Tone = "plain"): boolean {
    const key = `${who}|${what}`;
    if (this.said.has(key)) return false;
    this.said.add(key);
    this.line(who, what, tone);
    return true;
  }

  /** Prints what a state says, unless the last one printed for `who` was the same. It may come back later. */
  state(who: string, what: string, tone: Tone, state = what): void {
    if (this.states.get(who) === state) return;
    this.states.set(who, state);
    this.line(who, what, tone);
  }

  /** The lines printed since zero. */
  get told(): readonly Told[] {
    return this.lines;
  }

  private line(who: string, what: string, tone: Tone): void {
    const seconds = this.seconds;
    if (this.zeroMs !== undefined) this.lines.push({ seconds: Number(seconds.toFixed(1)), who, what, tone });
    const time = this.zeroMs === undefined ? "" : `+${seconds.toFixed(1)}s`;
    this.print(`${time.padStart(8)}  ${paint(who.padEnd(14), tone)} ${what}`);
  }

  heading(text: string): void {
    this.print(`\n${paint(text, "plain", true)}`);
  }

  /** Prints text unchanged, indented. */
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
