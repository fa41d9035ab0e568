import { ForbiddenError, GoneError, publicMessage, TerminalError } from "../../core/errors";
import { type JsonObject, objectOf } from "../../core/json";
import { guessResource, resourceIn, type KindQuestion, type KindReading } from "../../core/progress";
import { wantedForMs } from "../../core/readers";
import { inSlices, type Steps } from "../../core/slices";
import { askedMs, type Clock, TokenBucket } from "../../core/time";
import { kindObject, KindTrack, type Listed } from "../../evidence/progress/follow";
import type { Api } from "../http/api";
import {
  describeCall,
  LARGE_PAGES,
  listPages,
  METADATA_ONLY,
  PAGE_SIZE,
  pathOf,
  type Resource,
} from "../http/resources";

/** Time between the starts of two rounds, in milliseconds. */
export const KIND_INTERVAL_MS = 60_000;

/** Least time between two kinds of one round, and between two rounds. */
const KINDS_MS = 500;

/** Time in which this process was frozen, or had no answers, shows nothing. */
const LONGEST_GAP_MS = 150_000;

/** How long a first question waits for the first reading. */
const FIRST_MS = 5_000;

/** A page that takes longer shows that the API server is in trouble, and controllers with it. */
const SLOW_MS = 5_000;

/** Objects of a kind that are remembered. */
const MAX_OBJECTS = 20_000;

/** Whole objects that are read one by one in a round of one kind; with more the whole kind is listed, if that was not done for some time. */
const MAX_LOOKS = 20;
const WHOLE_LIST_MS = 300_000;

/** The same of all kinds. */
const LOOKS = { burst: 60, ratePerSecond: 1 };

/** A resource may appear, go, or get a status later. */
const DISCOVERY_MS = 600_000;

interface Served {
  readonly resource: Resource;
  readonly hasStatus: boolean;
  readonly discoveredMs: number;
}

/** What is known of one kind. */
interface Known {
  readonly apiVersion: string;
  readonly kind: string;
  readonly track: KindTrack;
  first?: Promise<void>;
  served?: Served;
  /** The last reading, if it succeeded. */
  countedMs?: number;
  /** The last one that succeeded. */
  readMs?: number;
  /** Since when all have succeeded. */
  steadyMs: number;
  /** The last whole list. */
  wholeMs: number;
  unknown?: KindReading["unknown"];
  /** Until when its API server, which may be an aggregated one, has asked to wait. */
  refusedUntilMs: number;
}

/** What the readings work with. */
export interface KindReadingsContext {
  readonly api: Pick<Api, "json" | "jsonOrNull">;
  readonly clock: Clock;
  /** Time between two full passes; absent: a minute. */
  readonly fullPassMs?: number | undefined;
}

const UNREAD = { steadyMs: Infinity, wholeMs: -Infinity, refusedUntilMs: 0 };

/**
 * Reads the objects of the kinds that are asked for every minute: as metadata, by one list of the whole cluster for all who ask. Only an object
 * that has changed is read as a whole, to answer the questions. Ends by itself when it is not asked any more.
 */
export class KindReadings {
  readonly #api: KindReadingsContext["api"];
  readonly #clock: Clock;
  readonly #wantedMs: number;
  readonly #byKind = new Map<string, Known>();
  readonly #looks: TokenBucket;
  readonly #epochMs: number;
  #isRunning = false;

  constructor({ api, clock, fullPassMs }: KindReadingsContext) {
    this.#api = api;
    this.#clock = clock;
    this.#wantedMs = wantedForMs(fullPassMs);
    this.#looks = new TokenBucket(clock, LOOKS);
    this.#epochMs = clock.now().getTime() - clock.monotonicMs();
  }

  /** What is known of the objects of a kind; the first question begins to read them, and waits for that for some seconds. Never throws. */
  async kind(question: KindQuestion): Promise<KindReading> {
    const { apiVersion, kind } = question;
    const key = `${apiVersion} ${kind}`;
    const known = this.#byKind.get(key) ?? { apiVersion, kind, track: new KindTrack(), ...UNREAD };
    this.#byKind.set(key, known);
    const asked = known.track.ask(question, this.#clock.monotonicMs());
    // Only a whole list answers a new question for all objects.
    if (asked === "new") known.wholeMs = -Infinity;
    this.#begin();
    if (known.readMs === undefined && known.unknown === undefined)
      await Promise.race([(known.first ??= this.#read(known)), this.#pause(FIRST_MS)]);
    return { ...readingOf(known, question), epochMs: this.#epochMs };
  }

  #begin(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  /** Resolves when no kind is wanted any more. */
  async #run(): Promise<void> {
    for (let startedMs = this.#clock.monotonicMs(); ; ) {
      await this.#pause(Math.max(KINDS_MS, startedMs + KIND_INTERVAL_MS - this.#clock.monotonicMs()));
      startedMs = this.#clock.monotonicMs();
      this.#dropUnwanted();
      if (this.#byKind.size === 0) break;
      for (const known of [...this.#byKind.values()]) {
        await known.first;
        await this.#read(known);
        await this.#pause(KINDS_MS);
      }
    }
    this.#isRunning = false;
  }

  async #read(known: Known): Promise<void> {
    try {
      if (this.#clock.monotonicMs() >= known.refusedUntilMs) await this.#readNow(known);
    } catch (error) {
      known.refusedUntilMs = this.#clock.monotonicMs() + askedMs(error);
      delete known.countedMs;
      known.unknown = { forbidden: error instanceof ForbiddenError, message: publicMessage(error) };
    }
  }

  async #readNow(known: Known): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    const served = await this.#discover(known);
    const { wholeMs, readMs, track } = known;
    const isMuch = (): boolean => startedMs - wholeMs >= WHOLE_LIST_MS && track.outdated().length > MAX_LOOKS;
    const isWhole = readMs === undefined || wholeMs === -Infinity || isMuch();
    if (isWhole) known.wholeMs = startedMs;
    const { listed, isSlow } = await this.#list(known, served, isWhole);
    const nowMs = this.#clock.monotonicMs();
    const isSteady = known.countedMs !== undefined && nowMs - known.countedMs <= LONGEST_GAP_MS && !isSlow;
    if (!isSteady) known.steadyMs = nowMs;
    track.note(listed, nowMs);
    known.countedMs = nowMs;
    known.readMs = nowMs;
    await this.#look(known, served);
    delete known.unknown;
  }

  async #discover(known: Known): Promise<Served> {
    const discoveredMs = this.#clock.monotonicMs();
    if (known.served !== undefined && discoveredMs - known.served.discoveredMs < DISCOVERY_MS) return known.served;
    delete known.served;
    const { apiVersion, kind } = known;
    const [version = "", group = ""] = apiVersion.split("/").reverse();
    const path = [group === "" ? "api" : `apis/${encodeURIComponent(group)}`, encodeURIComponent(version)].join("/");
    const document = await this.#api.jsonOrNull<JsonObject>({
      what: `get the resources of ${apiVersion}`,
      path: `/${path}`,
    });
    const found = resourceIn(document, kind);
    if (found === undefined) throw new TerminalError(`kind ${kind} of ${apiVersion} does not exist (yet)`);
    const { plural, hasStatus } = found;
    const guess = guessResource(kind);
    if (plural !== guess) {
      const why = `kind ${kind} of ${apiVersion}: expected the resource ${guess}, for which the author's rights are checked, got ${plural}`;
      throw new TerminalError(why);
    }
    known.served = { resource: { group, version, plural }, hasStatus, discoveredMs };
    return known.served;
  }

  async #list(known: Known, served: Served, isWhole: boolean): Promise<{ listed: Listed[]; isSlow: boolean }> {
    const [clock, startedMs] = [this.#clock, this.#clock.monotonicMs()];
    const listed: Listed[] = [];
    let pages = 0;
    const size = isWhole ? { limit: PAGE_SIZE } : { limit: LARGE_PAGES.limit / 4, accept: METADATA_ONLY };
    const list = { resource: served.resource, ...size };
    // An object that is too large must not keep the others from being read.
    const options = { onUnread: () => undefined };
    try {
      for await (const { items } of listPages(this.#api, list, options)) {
        pages++;
        await inSlices(clock, addItems(items, listed, { track: isWhole ? known.track : undefined, ...served }));
        if (listed.length > MAX_OBJECTS)
          throw new TerminalError(`kind ${known.kind}: expected at most ${MAX_OBJECTS} objects, got more`);
      }
    } catch (error) {
      if (error instanceof GoneError) delete known.served;
      throw error;
    }
    return { listed, isSlow: clock.monotonicMs() - startedMs > SLOW_MS * Math.max(1, pages) };
  }

  /** Reads objects as a whole for which an answer is missing, as far as the budget allows. */
  async #look({ track }: Known, { resource, hasStatus }: Served): Promise<void> {
    for (const { namespace, name } of track.outdated().slice(0, MAX_LOOKS)) {
      if (!this.#looks.take()) return;
      const place = { namespace: namespace === "" ? undefined : namespace, name };
      const request = { what: describeCall("get", resource, place), path: pathOf(resource, place) };
      const raw = await this.#api.jsonOrNull<JsonObject>(request);
      const object = kindObject(raw, hasStatus);
      if (raw !== null && object !== undefined) track.noteWhole(object, raw, this.#clock.monotonicMs());
    }
  }

  #dropUnwanted(): void {
    const oldestMs = this.#clock.monotonicMs() - this.#wantedMs;
    for (const [key, { track }] of this.#byKind) if (!track.keepSince(oldestMs)) this.#byKind.delete(key);
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => this.#clock.after(ms, resolve));
  }
}

function* addItems(
  items: readonly unknown[],
  listed: Listed[],
  { track, hasStatus }: Pick<Served, "hasStatus"> & { readonly track: KindTrack | undefined },
): Steps {
  for (const item of items) {
    const object = kindObject(item, hasStatus);
    if (object !== undefined)
      listed.push({ object, ...(track && { answers: track.answersFor(object, objectOf(item)) }) });
    yield;
  }
}

function readingOf(
  { track, kind, readMs, steadyMs, served, unknown }: Known,
  { id }: KindQuestion,
): Omit<KindReading, "epochMs"> {
  const found = track.reading(id);
  const tooMany = { forbidden: false, message: `kind ${kind} has too many different definitions of due` };
  const why = found === undefined ? tooMany : unknown;
  return {
    ...(found ?? { due: [], movedMs: -Infinity, writtenMs: -Infinity, passedMs: -Infinity }),
    steadyMs,
    ...(readMs !== undefined && { readMs }),
    ...(served !== undefined && { resource: served.resource.plural }),
    ...(why !== undefined && { unknown: why }),
  };
}
