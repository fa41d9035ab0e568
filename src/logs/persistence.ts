// Decides whether 401s are persistent. Pure; all times are milliseconds since the epoch.
//
// A trace keeps a short list of occasions per container, however long its log is. 401s less than 2 s after the first
// line of an occasion belong to that occasion, so one line per second gives one occasion every 2 s.
//
// A trace is persistent when
// 1. the current episode has at least `occasions` occasions inside `windowMs`,
// 2. the first and the last of their 401s are at least `minDurationMs` apart, and
// 3. the episode is still going on: its last 401 is recent, and no long silence followed.
// A silence that is longer than 3 min and than 3 times the longest silence on one side of it ends an episode. Silence is
// time in which the log shows one life of the container running without a 401.
//
// docs/adr/0006-define-persistent-401s.md gives the reasons.

/** 401s less than this after the first line of an occasion belong to it (API: "lines closer than 2 s are one"). */
export const OCCASION_MS = 2_000;

/** A pod counts as rejected after so many occasions within this time (docs/adr/0006-define-persistent-401s.md). */
export const PERSISTENT = { occasions: 3, windowMs: 900_000 } as const;

/** The rule with the default minDuration of tokenRestart. */
export const DEFAULT_RULE: PersistenceRule = { ...PERSISTENT, minDurationMs: 60_000 };

/** Occasions kept per container. The newest half is kept whole. */
export const MAX_OCCASIONS = 256;

/** Shortest silence that ends an episode. The longest pause of a work queue is 168 s. */
export const RECOVERED_AFTER_MS = 180_000;

/** Such a silence also exceeds this many times the longest one before: a client may poll every five minutes. */
const RECOVERED_AFTER_GAPS = 3;

/** A 401 is recent for at least this long: slow informers log one every 30 to 60 s. */
const RECENT_MS = 90_000;

/** It is recent for this many times the longest gap of the episode, if that is longer, */
const RECENT_GAPS = 2;

/** but for no longer than this. A crash loop logs a 401 every 5 to 6 minutes. */
const MAX_RECENT_MS = 600_000;

/**
 * Fresh: the last 401 is younger than this, or than this many times the longest gap of the episode. Suspects are read every 5 s, and the
 * clock of a node may be half a minute behind.
 */
const FRESH_MS = 60_000;
const FRESH_GAPS = 1.5;

/** Fresh: the log went on without a 401 for no longer than this, or than {@link FRESH_GAPS} times the longest silence of the episode. */
const FRESH_QUIET_MS = 10_000;

/** One or more 401s, all less than OCCASION_MS after the first. */
export interface Occasion {
  readonly startMs: number;
  readonly endMs: number;
  /** Longest silence between the previous occasion and this one. */
  readonly quietMs: number;
}

/** What is remembered of one container's log. Immutable. */
export interface UnauthorizedTrace {
  /** Sorted by their starts. */
  readonly occasions: readonly Occasion[];
  /** The latest container life in the log (its restart count). */
  readonly life: number;
  /** Start of the current silence: the last 401, the first line of the life, or the end of a part that was not read. */
  readonly quietFromMs: number;
  /** Longest silence since the last 401. */
  readonly quietMs: number;
  /** Time of the newest line of that life. */
  readonly lastLineMs: number;
  /** There may have been earlier occasions that were forgotten. Absent: no. */
  readonly isStartUnknown?: boolean;
  /** End of the last part before the first occasion that was not read. Absent: not known. */
  readonly skippedUntilMs?: number;
}

/** When 401s count as persistent: fields of the spec, with durations in milliseconds. */
export interface PersistenceRule {
  readonly occasions: number;
  readonly windowMs: number;
  readonly minDurationMs: number;
}

/** The state of a trace at one moment. */
export interface Persistence {
  /**
   * - `quiet`: no episode is going on.
   * - `suspected`: an episode is going on, but with too few occasions or for too short a time.
   * - `persistent`: the rule is met.
   */
  readonly state: "quiet" | "suspected" | "persistent";
  /** Occasions of the current episode inside the window; 0 when quiet. */
  readonly occasions: number;
  /** Time of the first 401 of the episode, also before the window; absent when quiet, or if it may have been before what was read. */
  readonly beganMs?: number;
  /** Times of the first and the last of their 401s; absent when quiet. */
  readonly firstMs?: number;
  readonly lastMs?: number;
  /** False: by the log's own rhythm another 401 is overdue, so the client may have recovered. Absent when quiet. */
  readonly isFresh?: boolean;
  /** They are the kubelet's, which no counter of an API server has. */
  readonly isKubelets?: boolean;
}

const QUIET: Persistence = { state: "quiet", occasions: 0 };

/** The trace of a log that was not read yet. */
export const NO_TRACE: UnauthorizedTrace = { occasions: [], life: -1, quietFromMs: 0, quietMs: 0, lastLineMs: 0 };

/** Returns the trace after a line without a 401. Such lines show that the container was running silently. */
export function withLine(trace: UnauthorizedTrace, atMs: number, life: number): UnauthorizedTrace {
  if (life < trace.life) return trace;
  if (life > trace.life) return { ...trace, life, quietFromMs: atMs, lastLineMs: atMs };
  const quietMs = Math.max(trace.quietMs, atMs - trace.quietFromMs);
  return { ...trace, quietMs, lastLineMs: Math.max(trace.lastLineMs, atMs) };
}

/** Returns the trace after a part of the log before `atMs` was not read. That part does not count as silence. */
export function withGap(trace: UnauthorizedTrace, atMs: number): UnauthorizedTrace {
  return { ...trace, quietFromMs: Math.max(trace.quietFromMs, atMs), quietMs: 0 };
}

/** Returns the trace after a 401. Times may come out of order and more than once. */
export function withUnauthorized(trace: UnauthorizedTrace, atMs: number, life: number): UnauthorizedTrace {
  const seen = withLine(trace, atMs, life);
  const last = seen.occasions.at(-1);
  if (last === undefined || atMs - last.startMs >= OCCASION_MS) {
    const added = [...seen.occasions, { startMs: atMs, endMs: atMs, quietMs: seen.quietMs }];
    return { ...seen, occasions: thinned(added), quietFromMs: Math.max(atMs, seen.quietFromMs), quietMs: 0 };
  }
  if (atMs >= last.startMs) {
    const endMs = Math.max(last.endMs, atMs);
    return { ...seen, occasions: seen.occasions.with(-1, { ...last, endMs }), quietFromMs: endMs, quietMs: 0 };
  }
  return { ...seen, occasions: withLate(seen.occasions, atMs) };
}

/** Adds a 401 that is older than the last occasion: several threads log, or the clock was set back. */
function withLate(occasions: readonly Occasion[], atMs: number): readonly Occasion[] {
  const next = occasions.findIndex(occasion => occasion.startMs > atMs);
  const before = occasions[next - 1];
  const after = occasions[next];
  if (before !== undefined && atMs - before.startMs < OCCASION_MS)
    return occasions.with(next - 1, { ...before, endMs: Math.max(before.endMs, atMs) });
  if (after !== undefined && after.startMs - atMs < OCCASION_MS)
    return occasions.with(next, { ...after, startMs: atMs });
  return thinned(occasions.toSpliced(next, 0, { startMs: atMs, endMs: atMs, quietMs: 0 }));
}

/**
 * Returns at most MAX_OCCASIONS occasions. Drops the occasion of the older half whose neighbors are closest together
 * relative to its age, so the start of any window stays known to about 5 %.
 */
function thinned(occasions: readonly Occasion[]): readonly Occasion[] {
  if (occasions.length <= MAX_OCCASIONS) return occasions;
  const newest = occasions.at(-1);
  const losses = occasions
    .slice(1, MAX_OCCASIONS / 2)
    .map((occasion, i) => lossWithout(occasion, occasions[i], occasions[i + 2], newest));
  const least = losses.indexOf(Math.min(...losses)) + 1;
  const [dropped, following] = occasions.slice(least, least + 2);
  if (dropped === undefined || following === undefined) return occasions;
  return occasions.toSpliced(least, 2, { ...following, quietMs: Math.max(following.quietMs, dropped.quietMs) });
}

function lossWithout(occasion: Occasion, before = occasion, after = occasion, newest = occasion): number {
  return (after.startMs - before.endMs) / (newest.startMs - occasion.startMs + 1);
}

/**
 * Returns the state of a trace at `nowMs`. Occasions after `nowMs` do not count yet. For `downMs` since the last 401 the container did not
 * run: a container that waits for its next life does not recover meanwhile.
 */
export function persistenceOf(trace: UnauthorizedTrace, rule: PersistenceRule, nowMs: number, downMs = 0): Persistence {
  // Most logs have none.
  return trace.occasions.length === 0 ? QUIET : judge(trace, rule, nowMs, downMs);
}

function judge(trace: UnauthorizedTrace, rule: PersistenceRule, nowMs: number, downMs: number): Persistence {
  const isPast = ({ startMs }: Occasion): boolean => startMs <= nowMs;
  const isAllPast = trace.occasions.slice(-1).every(isPast);
  const episode = currentEpisode(isAllPast ? trace.occasions : trace.occasions.filter(isPast));
  const from = episode.occasions.findIndex(({ startMs }) => nowMs - startMs < rule.windowMs);
  const [first, last] = [episode.occasions[from], episode.occasions.at(-1)];
  const ongoing = last !== undefined && !hasEnded(episode, isAllPast ? trace.quietMs : 0, nowMs - downMs);
  if (first === undefined || !ongoing) return QUIET;
  const lastMs = Math.min(last.endMs, nowMs);
  const occasions = episode.occasions.length - from;
  const persistent = occasions >= rule.occasions && lastMs - first.startMs >= rule.minDurationMs;
  const state = persistent ? "persistent" : "suspected";
  const { beganMs, gapMs, quietMs } = episode;
  const isFresh =
    nowMs - lastMs <= Math.max(FRESH_MS, FRESH_GAPS * gapMs) &&
    trace.quietMs <= Math.max(FRESH_QUIET_MS, FRESH_GAPS * quietMs);
  return { state, occasions, beganMs, firstMs: first.startMs, lastMs, isFresh };
}

/** The occasions since a client last recovered. */
interface Episode {
  readonly occasions: readonly Occasion[];
  readonly beganMs: number;
  /** The longest gap between two of them, and the longest silence that the log shows within one. */
  readonly gapMs: number;
  readonly quietMs: number;
}

/** Time goes by more often than a log has another 401. */
const episodes = new WeakMap<readonly Occasion[], Episode>();

/**
 * Returns the occasions since the client last recovered. A burst at startup and one line many minutes later are two
 * episodes: the silence between them is long compared with those on one side of it.
 */
function currentEpisode(occasions: readonly Occasion[]): Episode {
  const known = episodes.get(occasions);
  if (known !== undefined) return known;
  const forwards = splitAtSilence(occasions, false);
  const last = splitAtSilence(forwards.toReversed(), true).toReversed();
  // Between older ones some were forgotten, which is no gap.
  const whole = last.slice(-MAX_OCCASIONS / 2);
  let [gapMs, quietMs] = [0, 0];
  whole.slice(1).forEach((occasion, i) => {
    gapMs = Math.max(gapMs, occasion.startMs - (whole[i]?.endMs ?? occasion.startMs));
    quietMs = Math.max(quietMs, occasion.quietMs);
  });
  const episode = { occasions: last, beganMs: Math.min(...last.map(({ startMs }) => startMs)), gapMs, quietMs };
  episodes.set(occasions, episode);
  return episode;
}

/** Walks from one end and starts over at each silence that is long compared with those it has passed. */
function splitAtSilence(occasions: readonly Occasion[], backwards: boolean): readonly Occasion[] {
  let [begin, longestMs] = [0, 0];
  for (let i = 1; i < occasions.length; i++) {
    // The later of two occasions holds the silence between them.
    const quietMs = occasions[backwards ? i - 1 : i]?.quietMs ?? 0;
    const ended = i - begin >= 2 && quietMs > recoveredAfterMs(longestMs);
    if (ended && backwards) return occasions.slice(0, i);
    if (ended) begin = i;
    longestMs = ended ? 0 : Math.max(longestMs, quietMs);
  }
  return occasions.slice(begin);
}

function recoveredAfterMs(longestQuietMs: number): number {
  return Math.max(RECOVERED_AFTER_MS, RECOVERED_AFTER_GAPS * longestQuietMs);
}

/** Whether the episode is over: its last 401 is not recent, or a long silence followed. */
function hasEnded({ occasions, gapMs, quietMs: longestQuietMs }: Episode, quietMs: number, nowMs: number): boolean {
  const lastMs = occasions.at(-1)?.endMs ?? -Infinity;
  const recentMs = Math.min(MAX_RECENT_MS, Math.max(RECENT_MS, RECENT_GAPS * gapMs));
  return nowMs - lastMs > recentMs || quietMs > recoveredAfterMs(longestQuietMs);
}
