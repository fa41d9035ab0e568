import { count, oneLine } from "../../core/text";
import { formatDuration } from "../../core/time";
import { classify, type LogClass, stripColors } from "../../logs/classifier/index";
import { timestampAt, toMs } from "../../logs/reading/lines";
import type { LogText } from "../replay/log-text";

type Found = Exclude<LogClass, "none">;

/** Every class but `none`, in the order of the checklist. */
const LOG_CLASSES = ["unauthorized", "forbidden", "lease-lost", "watch-ended", "throttled"] as const;

interface Count {
  records: number;
  /** The first record, which the summary quotes. */
  readonly example: string;
  firstMs?: number;
  lastMs?: number;
}

/** Counts the classified records of a log. */
export class ClassCounts {
  readonly #counts = new Map<LogClass, Count>();

  /** Counts one record. */
  add(cls: LogClass, record: Uint8Array): void {
    const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
    const count = this.#counts.get(cls) ?? { records: 0, example: bytes.toString("utf8") };
    this.#counts.set(cls, count);
    count.records++;
    const ns = timestampAt(bytes, 0);
    if (ns === undefined) return;
    count.firstMs = Math.min(count.firstMs ?? Infinity, toMs(ns));
    count.lastMs = Math.max(count.lastMs ?? -Infinity, toMs(ns));
  }

  /** Returns the count of a class; undefined if the log has no such record. */
  of(cls: LogClass): Count | undefined {
    return this.#counts.get(cls);
  }

  /** Returns the classes with records and their number, such as `2 unauthorized, 1 throttled`. */
  describe(): string {
    const counts = LOG_CLASSES.flatMap(cls => {
      const count = this.#counts.get(cls);
      return count === undefined ? [] : [`${count.records} ${cls}`];
    });
    return counts.length === 0 ? "no record has a class" : counts.join(", ");
  }
}

/** What a class means, and the next step for a person. */
const EXPLANATIONS: Readonly<Record<Found, { readonly meaning: string; readonly next: string }>> = {
  unauthorized: {
    meaning: "The API server answered a request of this process with 401: it does not accept its token.",
    next: "Compare the ages of pod and ServiceAccount (kubectl get pod,serviceaccount). If the ServiceAccount is younger, restart the pod.",
  },
  forbidden: {
    meaning: "The API server answered a request of this process with 403: it lacks a permission.",
    next: "Grant its ServiceAccount the permission that the record names. A restart does not help.",
  },
  "lease-lost": {
    meaning: "The process lost its leader election Lease, or could not renew it in time.",
    next: "Check the latency of the API server, and the CPU limit of the container.",
  },
  "watch-ended": {
    meaning: "A watch ended or expired. Clients relist, so this is normal now and then.",
    next: "No action required, unless it happens many times per minute.",
  },
  throttled: {
    meaning: "Requests of this process waited or were rejected because of their rate.",
    next: "Find out why it sends so many requests. flowIsolation keeps them away from other clients.",
  },
};

/**
 * Describes a whole log: what was found, how often, since when, what it means and what to do next.
 *
 * @param replay how a user calls replay, such as `npm run -s replay --`
 */
export function summarize(name: string, counts: ClassCounts, log: LogText, replay: string): string {
  const found = LOG_CLASSES.filter(cls => counts.of(cls) !== undefined);
  if (log.lines === 0) return lines(`${name}: 0 lines`, "", "RESULT  The file is empty.");
  const header = `${name}: ${count(log.lines, "line")}${describeSpan(log)}`;
  if (found.length === 0) {
    return lines(
      header,
      "",
      "RESULT  Found no problem between this process and the API server.",
      "NEXT    If the process is stuck, it may not log its errors: docs/remedies/token-restart.md#what-it-cannot-see",
    );
  }
  return lines(
    header,
    "",
    ...describeResult(counts, log, replay),
    "",
    ...table(found, counts),
    ...found.flatMap(cls => ["", ...describeClass(cls, counts)]),
  );
}

function describeResult(counts: ClassCounts, log: LogText, replay: string): string[] {
  const { action, occasionsMs } = log.replay;
  const { records } = counts.of("unauthorized") ?? { records: 0 };
  if (records === 0) return ["RESULT  Found no 401. tokenRestart would not act on this log."];
  const [atMs] = occasionsMs;
  if (atMs === undefined) {
    const found = records === 1 ? "one record" : `${records} records`;
    return [
      `RESULT  Found ${found} with a 401. Without the timestamps of kubectl it is unknown whether 401s are persistent.`,
      "NEXT    Classify the output of `kubectl logs --timestamps`.",
    ];
  }
  // The schema of tokenRestart allows no fewer than two occasions.
  if (records === 1) {
    return [
      `RESULT  Found one 401, at ${time(atMs)}. One is not persistent: tokenRestart acts from ${log.rule.occasions} occasions on.`,
      "NEXT    No action required if it was the last.",
    ];
  }
  if (action === undefined) {
    return [
      `RESULT  Found 401s, but not persistent: ${occasions(occasionsMs)}. tokenRestart would not act on this log alone.`,
      `NEXT    No action required if they have ended. \`${replay} FILE\` says what is missing.`,
    ];
  }
  return [
    `RESULT  Found persistent 401s: ${occasions(occasionsMs)}.`,
    `        With its defaults, tokenRestart would have acted at ${time(action.atMs)} (line ${log.actedOnLine ?? "?"}).`,
    "NEXT    Restart the pod, or let tokenRestart do it: docs/remedies/token-restart.md",
  ];
}

function occasions(startsMs: readonly number[]): string {
  const first = startsMs[0] ?? 0;
  const found = count(startsMs.length, "occasion");
  if (startsMs.length === 1) return `${found}, at ${time(first)}`;
  return `${found} in ${formatDuration((startsMs.at(-1) ?? first) - first)}, since ${time(first)}`;
}

function table(found: readonly Found[], counts: ClassCounts): string[] {
  const rows = found.map(cls => {
    const { records = 0, firstMs, lastMs } = counts.of(cls) ?? {};
    return [
      cls,
      String(records),
      firstMs === undefined ? "-" : time(firstMs),
      lastMs === undefined ? "-" : time(lastMs),
    ];
  });
  return [["CLASS", "RECORDS", "FIRST", "LAST"], ...rows].map(([cls = "", records = "", first = "", last = ""]) =>
    `${cls.padEnd(14)}${records.padEnd(9)}${first.padEnd(26)}${last}`.trimEnd(),
  );
}

/** Longest line of a quoted record. */
const EXAMPLE_LENGTH = 160;

function describeClass(cls: Found, counts: ClassCounts): string[] {
  const { meaning, next } = EXPLANATIONS[cls];
  const line = oneLine(stripColors(tellingLine(cls, counts.of(cls)?.example ?? "")));
  const example = line.length > EXAMPLE_LENGTH ? `${line.slice(0, EXAMPLE_LENGTH)}...` : line;
  return [cls, `  meaning  ${meaning}`, `  next     ${next}`, `  first    ${example}`];
}

/** Returns the line that shows the class: the first line of a record may be an unrelated one before a traceback. */
function tellingLine(cls: Found, record: string): string {
  const all = record.split("\n");
  return all.find(line => classify(line) === cls) ?? all[0] ?? "";
}

function describeSpan({ spanMs }: LogText): string {
  return spanMs === undefined ? ", without timestamps of kubectl" : `, ${time(spanMs.first)} to ${time(spanMs.last)}`;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

function lines(...all: readonly string[]): string {
  return `${all.join("\n")}\n`;
}
