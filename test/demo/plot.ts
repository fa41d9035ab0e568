import type { Second } from "../flood/seconds";

interface Mark {
  readonly atMs: number;
  readonly what: string;
}

const WIDTH = 48;
const EVERY_SECONDS = 2;

/** A client's latency over time: one row per two seconds, with marks for events. */
export class LatencyPlot {
  private readonly marks: Mark[] = [];

  /** Adds a mark; time in milliseconds since the epoch. */
  mark(atMs: number, what: string): void {
    this.marks.push({ atMs, what });
  }

  /** Draws the rows. The scale is logarithmic, since a flood makes latency a hundred times worse. */
  draw(seconds: readonly Second[]): string {
    const rows = seconds
      .filter((_, index) => index % EVERY_SECONDS === 0)
      .map((first, index) => this.row(seconds, first, index));
    const values = rows.map(({ p99Ms }) => p99Ms).filter(Number.isFinite);
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const scale = (ms: number): number => (most > least ? Math.log(ms / least) / Math.log(most / least) : 0);
    return rows
      .map(({ atSeconds, p99Ms, marks }) => {
        const length = Number.isFinite(p99Ms) ? 1 + Math.round((WIDTH - 1) * scale(p99Ms)) : 0;
        const figure = Number.isFinite(p99Ms) ? `${p99Ms.toFixed(1)} ms` : "no answer";
        return `${`${atSeconds} s`.padStart(6)} ${"█".repeat(length).padEnd(WIDTH)} ${figure.padStart(9)}  ${marks}`.trimEnd();
      })
      .join("\n");
  }

  private row(
    seconds: readonly Second[],
    first: Second,
    index: number,
  ): { atSeconds: number; p99Ms: number; marks: string } {
    const within = seconds.slice(index * EVERY_SECONDS, (index + 1) * EVERY_SECONDS);
    const toMs = within.at(-1)?.toMs ?? first.toMs;
    const p99s = within.map(({ latencies }) => latencies.quantile(0.99)).filter(Number.isFinite);
    const marks = this.marks.filter(({ atMs }) => atMs >= first.fromMs && atMs < toMs).map(({ what }) => `<- ${what}`);
    const zeroMs = this.marks[0]?.atMs ?? first.fromMs;
    return { atSeconds: Math.round((first.fromMs - zeroMs) / 1000), p99Ms: Math.max(...p99s), marks: marks.join(" ") };
  }
}
