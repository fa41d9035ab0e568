/** How a part of a log is asked for, as query parameters of pods/log. */
export interface LogOptions {
  readonly sinceTime?: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly timestamps?: boolean;
  readonly previous?: boolean;
}

/** Lines that are kept of one life of a container. */
const KEPT_LINES = 2_000;

/** The log of one life of a container. */
export class ContainerLog {
  #times: number[] = [];
  #lines: string[] = [];

  /** Appends a record, which may have several lines. */
  append(ms: number, record: string): void {
    for (const line of record.includes("\n") ? record.split("\n") : [record]) {
      this.#times.push(ms);
      this.#lines.push(line);
    }
    if (this.#lines.length < 2 * KEPT_LINES) return;
    this.#times = this.#times.slice(-KEPT_LINES);
    this.#lines = this.#lines.slice(-KEPT_LINES);
  }

  /** What a kubelet answers. */
  read({ sinceTime, tailLines, limitBytes, timestamps = false }: LogOptions): string {
    const end = this.#lines.length;
    const most = limitBytes ?? Infinity;
    const since = sinceTime === undefined ? 0 : this.#firstSince(Date.parse(sinceTime));
    const from = Math.max(since, end - (tailLines ?? Infinity));
    let text = "";
    for (let at = from; at < end && text.length <= most; at++)
      text += `${timestamps ? `${stampOf(this.#times[at]!)} ` : ""}${this.#lines[at]!}\n`;
    return text.length <= most ? text : Buffer.from(text).subarray(0, most).toString("utf8");
  }

  #firstSince(sinceMs: number): number {
    let from = this.#lines.length;
    while (from > 0 && this.#times[from - 1]! >= sinceMs) from--;
    return from;
  }
}

/** The time stamp that a kubelet prints: nine digits. */
function stampOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000000Z`;
}
