/** One line of the operator's log. */
export interface LogLine {
  /** Pepr's own lines have numbers, the operator's have words. */
  readonly level: string | number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const MOST = 10;

/** Parses a line of the log; undefined if it is not JSON, such as a crash report. */
export function parseLine(line: string): LogLine | undefined {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return undefined;
  }
}

/** The last lines that are warnings or errors. */
export function complaintsIn(log: readonly LogLine[]): string[] {
  const bad = log.filter(({ level }) => level === "warn" || level === "error" || Number(level) >= 40);
  return bad.slice(-MOST).map(line => JSON.stringify(line));
}
