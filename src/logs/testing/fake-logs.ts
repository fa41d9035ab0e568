import type { LogChunk, LogReader, LogRequest } from "../../core/readers";

/** One line: time in milliseconds (fractions are kept), and text. */
export interface FakeLine {
  readonly ms: number;
  readonly text: string;
}

/** The time stamp that the kubelet prints. */
export function stamp(ms: number): string {
  const whole = Math.floor(ms);
  const ns = Math.round((ms - whole) * 1_000_000);
  const base = new Date(whole).toISOString().slice(0, 23);
  return `${base}${String(ns).padStart(6, "0")}Z`;
}

/** Logs as the API server serves them: whole-second sinceTime, limitBytes from the oldest line on, tailLines first. */
export class FakeLogs implements LogReader {
  /** By pod, container and life. */
  readonly lives = new Map<string, FakeLine[][]>();
  readonly requests: LogRequest[] = [];
  /** Called before each answer; throws or waits in its place. */
  before: (request: LogRequest) => Promise<void> | void = () => undefined;

  /** Adds lines to the current life. */
  write(pod: string, container: string, ...lines: FakeLine[]): void {
    const key = `${pod}/${container}`;
    const lives = this.lives.get(key) ?? [[]];
    this.lives.set(key, lives);
    lives.at(-1)?.push(...lines);
  }

  /** Begins the next life. */
  restart(pod: string, container: string): void {
    this.lives.get(`${pod}/${container}`)?.push([]);
  }

  /** As LogReader. */
  async read<T>(request: LogRequest, use: (chunk: LogChunk | null) => Promise<T>): Promise<T> {
    return use(await this.answer(request));
  }

  /** Answers as the API server does. */
  async answer(request: LogRequest): Promise<LogChunk | null> {
    this.requests.push(request);
    await this.before(request);
    const lives = this.lives.get(`${request.pod}/${request.container}`) ?? [];
    const lines = lives.at(request.previous ? -2 : -1);
    if (lines === undefined || (request.previous && lives.length < 2)) return null;
    const sinceMs = Math.floor((request.sinceMs ?? 0) / 1000) * 1000;
    const tail = request.tailLines === undefined ? lines : lines.slice(-request.tailLines);
    const text = tail
      .filter(line => line.ms >= sinceMs)
      .map(line => `${stamp(line.ms)} ${line.text}\n`)
      .join("");
    const bytes = Buffer.from(text);
    return { bytes: bytes.subarray(0, request.limitBytes), truncated: bytes.length > request.limitBytes };
  }
}
