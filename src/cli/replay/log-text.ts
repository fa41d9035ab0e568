import { isObject } from "../../core/json";
import { readFileSync } from "node:fs";
import type { TokenRestartSpec } from "../../api/controller-resilience";
import { KIND } from "../../api/names";
import { checkSpec, readYaml, type Schema, schemaOf } from "../schema/check";
import { CliError } from "../streams";
import { createFinder, findByClass, type Finder } from "../../logs/detector";
import type { FindUnauthorized } from "../../logs/reading/container-log";
import { ruleOf } from "../../remedies/token-restart/observe";
import {
  NO_TRACE,
  type Persistence,
  persistenceOf,
  type PersistenceRule,
  withLine,
  withUnauthorized,
} from "../../logs/persistence";
import { runToEnd } from "../../core/slices";
import type { LogClass } from "../../logs/classifier/classify";
import type { PodName } from "../../logs/classifier/other-pod";
import { scanRecords, WholeRecords } from "../../logs/classifier/scan-log";
import { timestampAt, toMs } from "../../logs/reading/lines";

const PATH = "spec.tokenRestart";

/**
 * Returns the tokenRestart block of a file with the defaults of the CRD; all defaults without a file.
 *
 * @throws CliError with one error per line
 */
export function loadSpec(file: string | undefined): TokenRestartSpec {
  const block = file === undefined ? {} : blockOf(readDocuments(file), file);
  const errors = checkSpec(block, tokenRestartSchema(), PATH);
  if (errors.length > 0) throw new CliError(errors.map(error => `${file ?? "default"}: ${error}`).join("\n"));
  return block as unknown as TokenRestartSpec;
}

function tokenRestartSchema(): Schema {
  const schema = schemaOf(KIND).properties?.["spec"]?.properties?.["tokenRestart"];
  if (schema === undefined) throw new CliError(`the schema of ${KIND}: expected ${PATH}`);
  return schema;
}

function readDocuments(file: string): unknown[] {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(`failed to read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return readYaml(text, file);
}

/** Finds the block in a ControllerResilience, in its spec, under the key tokenRestart, or as the whole document. */
function blockOf(documents: readonly unknown[], file: string): Record<string, unknown> {
  const document = documents.find(candidate => isObject(candidate) && candidate["kind"] === KIND) ?? documents[0];
  if (!isObject(document)) throw new CliError(`${file}: expected a ControllerResilience or a tokenRestart block`);
  const spec = isObject(document["spec"]) ? document["spec"] : document;
  if (!("tokenRestart" in spec) && ("targets" in spec || "kind" in document))
    throw new CliError(`${file}: no tokenRestart block, so the remedy is off`);
  const block = "tokenRestart" in spec ? (spec["tokenRestart"] ?? {}) : spec;
  if (!isObject(block)) throw new CliError(`${file}: ${PATH}: expected type object, got ${JSON.stringify(block)}`);
  // The API server replaces null by the default.
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== null));
}

/** The detection of tokenRestart with one spec. */
export interface Detector {
  readonly finder: Finder;
  readonly rule: PersistenceRule;
}

/** Returns the detection of tokenRestart with this spec. */
export function createDetector(spec: TokenRestartSpec): Detector {
  return { finder: spec.evidence.includes("Logs") ? createFinder(spec.extraPhrases) : BLIND, rule: ruleOf(spec) };
}

/** For a spec whose evidence does not include Logs. */
const findNothing: FindUnauthorized = (_, onRecord) => findByClass(Buffer.alloc(0), onRecord);
const BLIND = { find: findNothing, isUnauthorized: () => false };

/** The moment at which tokenRestart would have acted, and why. */
interface Action {
  readonly atMs: number;
  readonly persistence: Persistence;
  /** Start times of the counted occasions. */
  readonly occasionsMs: readonly number[];
}

/** Replays one container's log, record by record. Checks persistence after each 401. */
export class Replay {
  #trace = NO_TRACE;
  /** The first action; undefined if tokenRestart would not have acted so far. */
  action: Action | undefined;
  readonly #rule: PersistenceRule;

  constructor(rule: PersistenceRule) {
    this.#rule = rule;
  }

  /** Start times of the remembered occasions. */
  get occasionsMs(): readonly number[] {
    return this.#trace.occasions.map(occasion => occasion.startMs);
  }

  /** Adds a record that is no 401. */
  line(atMs: number, life: number): void {
    this.#trace = withLine(this.#trace, atMs, life);
  }

  /** Adds a 401. */
  unauthorized(atMs: number, life: number): void {
    this.#trace = withUnauthorized(this.#trace, atMs, life);
    if (this.action !== undefined) return;
    const persistence = persistenceOf(this.#trace, this.#rule, atMs);
    if (persistence.state !== "persistent") return;
    const occasionsMs = this.occasionsMs.filter(ms => ms >= (persistence.firstMs ?? 0) && ms <= atMs);
    this.action = { atMs, persistence, occasionsMs };
  }
}

/** Every class but `none`, in the order of the checklist. */
export const LOG_CLASSES = ["unauthorized", "forbidden", "lease-lost", "throttled"] as const;

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
  add(cls: LogClass, record: Buffer): void {
    const count = this.#counts.get(cls) ?? { records: 0, example: record.toString("utf8") };
    this.#counts.set(cls, count);
    count.records++;
    const ns = timestampAt(record, 0);
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

const NEWLINE = 0x0a;

/** Replays a log with timestamps that arrives in chunks, cut anywhere. */
export class LogText {
  readonly replay: Replay;
  readonly counts = new ClassCounts();
  /** When 401s are persistent. */
  readonly rule: PersistenceRule;
  readonly #finder: Finder;
  readonly #records = new WholeRecords();
  /** Lines so far. */
  lines = 0;
  /** Times of the first and the last line with a timestamp. */
  spanMs: { readonly first: number; readonly last: number } | undefined;
  /** Number of 401s without a timestamp. */
  unstamped = 0;
  readonly #pod: PodName | undefined;
  readonly #isCounted: (cls: LogClass, record: Buffer) => boolean;

  /**
   * @param pod whose log it is: what a log shipper prints for another pod is no 401 of it. Absent: not known
   * @param isCounted of the records of a class, those that count
   */
  constructor(
    { finder, rule }: Detector,
    pod?: PodName,
    isCounted: (cls: LogClass, record: Buffer) => boolean = () => true,
  ) {
    this.#finder = finder;
    this.rule = rule;
    this.#pod = pod;
    this.#isCounted = isCounted;
    this.replay = new Replay(rule);
  }

  /** Adds the next chunk. */
  push(chunk: Buffer): void {
    this.#take(this.#records.push(chunk));
  }

  /** Ends the log: takes the rest. */
  end(): void {
    this.#take(this.#records.end());
  }

  #take(text: Buffer): void {
    if (text.length === 0) return;
    this.#noteTime(text, 0);
    runToEnd(this.#finder.find(text, start => this.#unauthorized(text, start), this.#pod));
    scanRecords(text, (cls, from, to) => {
      const record = text.subarray(from, to);
      if (this.#isCounted(cls, record)) this.counts.add(cls, record);
    });
    this.#noteTime(text, lastLine(text));
    this.lines += countLines(text) + (text.at(-1) === NEWLINE ? 0 : 1);
  }

  #unauthorized(text: Buffer, start: number): void {
    const ns = timestampAt(text, start);
    if (ns === undefined) this.unstamped++;
    else this.replay.unauthorized(toMs(ns), 1);
  }

  #noteTime(text: Buffer, at: number): void {
    const ns = timestampAt(text, at);
    if (ns === undefined) return;
    this.spanMs = { first: this.spanMs?.first ?? toMs(ns), last: toMs(ns) };
    this.replay.line(toMs(ns), 1);
  }
}

function countLines(text: Buffer): number {
  let count = 0;
  for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

function lastLine(text: Buffer): number {
  return text.length < 2 ? 0 : text.lastIndexOf(NEWLINE, text.length - 2) + 1;
}
