import { askedMs, type Clock, pause, TokenBucket } from "../../core/time";
import { ForbiddenError, type Problem, problemOf } from "../../core/errors";
import { KINDS } from "../../core/kinds";
import { followLease, type LeaseReading, type LeaseTrack, type LeaseView, PAUSES_COUNT_MS } from "../../core/leases";
import { groupBy } from "../../core/views";
import type { Api } from "../http/api";
import { listPages, type Unread, unreadError } from "../http/resources";
import { leaseView } from "../read/views";
import { Rounds } from "./rounds";

/** Time between the starts of two rounds, in milliseconds. */
export const LEASE_INTERVAL_MS = 10_000;

/** Least time between two requests of one round: many namespaces make a round longer, and never the requests more. */
const REQUEST_MS = 1_000;

/** With more namespaces than this, one list of all namespaces costs less than one list of each. */
const MOST_SINGLE = 3;

/** Leases of nodes, which are the most in a large cluster, and which no controller holds. */
const NO_NODES = "metadata.namespace!=kube-node-lease";

/** Leases have about a kilobyte: a page takes a few milliseconds to parse. */
const PAGE = 500;

/** After a failed or slow reading holders may need this long to renew; it does not count as time without a renewal. */
const SETTLE_MS = 60_000;

/** A reading that takes longer shows that the API server is in trouble, and that renewals may fail. */
const SLOW_MS = 5_000;

/** Failed or slow readings that keep time from counting for this long blind the evidence, which is then said. */
const BLIND_MS = 180_000;

const BLIND =
  "lists of Leases failed, or took longer than 5s, again and again for minutes, so no time without a renewal counts; look at the API server (its load, priority levels and etcd), and for thousands of unused Leases";

/** A longer gap between two readings, as a multiple of the one before, is time in which this process was frozen, and the holders perhaps too. */
const MOST_GAPS = 2;

/** Least time between the ends of two readings of a namespace, however often an earlier one is asked for. */
const SOONEST_MS = 2_000;

/** Such readings of all namespaces together. */
const SOON = { burst: 10, ratePerSecond: 2 };

/** A failed list of all namespaces is not tried again for this long. */
const FORBIDDEN_MS = 600_000;

/** Where Leases are read: one namespace, or `undefined` for all. */
type Scope = string | undefined;

/** What is known of one namespace. */
interface Known {
  wantedMs: number;
  reading: LeaseReading;
  /** On the monotonic clock: the last reading that counts, and the last trouble. */
  countedFromMs?: number;
  troubleMs: number;
  /** When the trouble began of which none was a minute behind another; absent: there was none since time has last counted. */
  troubledSinceMs?: number;
  /** The first reading, or one that was asked for, that is under way. */
  first?: Promise<unknown>;
}

const NOT_READ: LeaseReading = { leases: [], intervalMs: LEASE_INTERVAL_MS };

/**
 * Reads the Leases of the namespaces that are asked for, again and again, with a bounded number of requests: watches would bring an event
 * for each renewal (docs/adr/0032-read-leases-in-rounds.md). Ends by itself when it is not asked any more, and knows for an hour what it has
 * read: passes may fail for minutes.
 */
export class LeaseReadings {
  readonly #api: Pick<Api, "json">;
  readonly #clock: Clock;
  readonly #rounds: Rounds<void>;
  readonly #byNamespace = new Map<string, Known>();
  readonly #soon: TokenBucket;
  #widelyForbiddenMs = -Infinity;
  /** Until when the API server has asked to wait, and how. */
  #refusal: { readonly error: unknown; readonly untilMs: number } | undefined;

  constructor({ api, clock }: { readonly api: Pick<Api, "json">; readonly clock: Clock }) {
    this.#api = api;
    this.#clock = clock;
    this.#rounds = new Rounds(clock, () => this.#round());
    this.#soon = new TokenBucket(clock, SOON);
  }

  /**
   * What is known of the Leases of a namespace; the first question waits for the first reading, and one with maxAgeMs for a younger one.
   * Never throws.
   */
  async leases(namespace: string, maxAgeMs = Infinity): Promise<LeaseReading> {
    const wantedMs = this.#clock.monotonicMs();
    for (const [name, one] of this.#byNamespace)
      if (wantedMs - one.wantedMs > PAUSES_COUNT_MS) this.#byNamespace.delete(name);
    const before = this.#byNamespace.get(namespace);
    const known: Known = before ?? { wantedMs, reading: NOT_READ, troubleMs: -Infinity };
    const isNew = before === undefined || known.wantedMs < this.#rounds.oldestMs;
    known.wantedMs = wantedMs;
    this.#byNamespace.set(namespace, known);
    if (isNew || this.#isDueSoon(known, maxAgeMs))
      known.first ??= this.#read(namespace, new Map([[namespace, known]])).finally(() => delete known.first);
    await known.first;
    this.#rounds.want("", () => undefined, Promise.resolve(LEASE_INTERVAL_MS));
    return known.reading;
  }

  #isDueSoon({ wantedMs, reading, troubleMs }: Known, maxAgeMs: number): boolean {
    const ageMs = wantedMs - Math.max(reading.readMs ?? -Infinity, troubleMs);
    return maxAgeMs < Infinity && ageMs >= Math.max(SOONEST_MS, maxAgeMs) && this.#soon.take();
  }

  /** Returns the time until the next round. */
  async #round(): Promise<number> {
    const wanted = new Map(Array.from(this.#byNamespace).filter(([, one]) => one.wantedMs >= this.#rounds.oldestMs));
    const isWide = wanted.size > MOST_SINGLE && this.#clock.monotonicMs() - this.#widelyForbiddenMs > FORBIDDEN_MS;
    if (isWide && (await this.#read(undefined, wanted))) return LEASE_INTERVAL_MS;
    let isFirst = true;
    for (const [namespace, known] of wanted) {
      if (!isFirst) await pause(this.#clock, REQUEST_MS);
      isFirst = false;
      await this.#read(namespace, new Map([[namespace, known]]));
    }
    return LEASE_INTERVAL_MS;
  }

  /** Reads one scope and notes it for the namespaces in it; false if the operator may not. */
  async #read(scope: Scope, wanted: ReadonlyMap<string, Known>): Promise<boolean> {
    const startedMs = this.#clock.monotonicMs();
    try {
      const { views, unread } = await this.#list(scope);
      const byNamespace = groupBy(views, ({ namespace }) => namespace);
      const isSlow = this.#clock.monotonicMs() - startedMs > SLOW_MS;
      for (const [namespace, known] of wanted) {
        // A reading that began later has been noted already.
        if ((known.reading.readMs ?? -Infinity) > startedMs) continue;
        if (isSlow) noteTrouble(known, startedMs);
        this.#note(known, byNamespace.get(namespace) ?? []);
        unread
          .filter(object => object.namespace === namespace)
          .forEach(object => this.#noteFailure(known, problemOf(unreadError("list leases", object))));
      }
    } catch (error) {
      if (error instanceof ForbiddenError && scope === undefined) {
        this.#widelyForbiddenMs = startedMs;
        return false;
      }
      for (const known of wanted.values()) this.#noteFailure(known, problemOf(error));
    }
    return true;
  }

  async #list(scope: Scope) {
    if (this.#clock.monotonicMs() < (this.#refusal?.untilMs ?? 0)) throw this.#refusal?.error;
    const [views, unread]: [LeaseView[], Unread[]] = [[], []];
    const fieldSelector = scope === undefined ? NO_NODES : undefined;
    const request = { resource: KINDS.Lease, place: { namespace: scope }, limit: PAGE, fieldSelector };
    try {
      for await (const { items } of listPages(this.#api, request, { onUnread: object => void unread.push(object) }))
        views.push(...items.flatMap(item => leaseView(item) ?? []));
    } catch (error) {
      this.#refusal = { error, untilMs: this.#clock.monotonicMs() + askedMs(error) };
      throw error;
    }
    return { views, unread };
  }

  #note(known: Known, views: readonly LeaseView[]): void {
    const nowMs = this.#clock.monotonicMs();
    const before = new Map(known.reading.leases.map(track => [track.name, track]));
    const countedMs = this.#countedMs(known, nowMs);
    if (countedMs > 0) delete known.troubledSinceMs;
    const isBlind = nowMs - (known.troubledSinceMs ?? nowMs) >= BLIND_MS;
    const moment = { nowMs: this.#clock.now().getTime(), countedMs };
    const leases = views.map((view): LeaseTrack => followLease(before.get(view.name), view, moment));
    const intervalMs = Math.max(LEASE_INTERVAL_MS, nowMs - (known.reading.readMs ?? nowMs));
    const unknown = isBlind ? { unknown: { forbidden: false, message: BLIND } } : {};
    known.reading = { leases, readMs: nowMs, intervalMs, ...unknown };
    known.countedFromMs = nowMs;
  }

  /** The part of the time since the last reading that says something about the holders. */
  #countedMs({ countedFromMs, troubleMs, reading }: Known, nowMs: number): number {
    if (countedFromMs === undefined) return 0;
    const gapMs = nowMs - Math.max(countedFromMs, troubleMs + SETTLE_MS);
    return Math.min(MOST_GAPS * reading.intervalMs, Math.max(0, gapMs));
  }

  #noteFailure(known: Known, unknown: Problem): void {
    known.reading = { ...known.reading, unknown };
    noteTrouble(known, this.#clock.monotonicMs());
    delete known.countedFromMs;
  }
}

function noteTrouble(known: Known, atMs: number): void {
  known.troubleMs = atMs;
  known.troubledSinceMs ??= atMs;
}
