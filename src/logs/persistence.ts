// Whether 401s are persistent. Pure; every time is in milliseconds since the epoch.
//
// What is kept of a container's log is a short list of occasions, whatever the log holds: 401s less than 2 s after the
// first line of an occasion belong to it, so a line per second for ever makes an occasion every 2 s and not one endless
// one. docs/adr/0006 says where the constants below come from.

/** 401s closer than this to the first line of an occasion are part of it (API: "lines closer than 2 s are one"). */
export const OCCASION_MS = 2_000;

/** Occasions kept of one container. The newest half is kept whole: spec.occasions asks for 100 at most. */
export const MAX_OCCASIONS = 256;

/** Shortest silence inside one container life that counts as cured: the longest pause of a work queue is 168 s. */
const CURED_AFTER_MS = 180_000;

/** ... unless the client has been this many times slower before: a poll every five minutes is not cured in between. */
const CURED_AFTER_GAPS = 3;

/** "Still going on" allows at least this much silence up to now: slow informers log a line every 30 to 60 s. */
const RECENT_MS = 90_000;

/** ... or this many times the longest gap so far, */
const RECENT_GAPS = 2;

/** ... but never more than this: a crash loop comes round every 5 to 6 minutes. */
const MAX_RECENT_MS = 600_000;

/** One or more 401s, less than two seconds apart. */
export interface Occasion {
  readonly startMs: number;
  readonly endMs: number;
  /** Longest time without a 401, since the occasion before, in which the log shows one life of the container going on. */
  readonly quietMs: number;
}

/** What is remembered of one container's log. A value: functions return new ones. */
export interface UnauthorizedTrace {
  readonly occasions: readonly Occasion[];
  /** The container life seen last (its restart count). */
  readonly life: number;
  /** From where silence is measured: the last 401, or the first line of the life, or the end of a gap in our reading. */
  readonly quietFromMs: number;
  /** Longest such silence since the last 401. */
  readonly quietMs: number;
  /** Newest line of that life, whatever it says. */
  readonly lastLineMs: number;
}

/** When 401s count as persistent: the fields of the spec, durations in milliseconds. */
export interface PersistenceRule {
  readonly occasions: number;
  readonly windowMs: number;
  readonly minDurationMs: number;
}

/** What a trace amounts to at a moment. */
export interface Verdict {
  /** quiet: no 401s that still go on. suspected: some, but too few or over too short a time. persistent: the rule is met. */
  readonly state: "quiet" | "suspected" | "persistent";
  /** Occasions of the episode that is going on, inside the window. 0 when quiet. */
  readonly occasions: number;
  /** First and last 401 of these. Absent when quiet. */
  readonly firstMs?: number;
  readonly lastMs?: number;
}

/** A trace of nothing yet. */
export const NO_TRACE: UnauthorizedTrace = { occasions: [], life: -1, quietFromMs: 0, quietMs: 0, lastLineMs: 0 };

/** The log had a line at that time, whatever it said: silence is only silence while the container is seen to live on. */
export function withLine(trace: UnauthorizedTrace, atMs: number, life: number): UnauthorizedTrace {
  if (life < trace.life) return trace;
  if (life > trace.life) return { ...trace, life, quietFromMs: atMs, lastLineMs: atMs };
  const quietMs = Math.max(trace.quietMs, atMs - trace.quietFromMs);
  return { ...trace, quietMs, lastLineMs: Math.max(trace.lastLineMs, atMs) };
}

/** A part of the log before that time could not be read: nothing is known of it, so it is no silence. */
export function withGap(trace: UnauthorizedTrace, atMs: number): UnauthorizedTrace {
  return { ...trace, quietFromMs: Math.max(trace.quietFromMs, atMs), quietMs: 0 };
}

/** The log had a 401 at that time. Times may come out of order and more than once. */
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

/** A 401 from before the last occasion: threads that log at once, or a clock that was set back. */
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
 * At most MAX_OCCASIONS: of the older half goes the one that is missed least, whose neighbours are closest together by the
 * measure of its age. So the beginning of any window stays known to within some 5 %, however long the log gets.
 */
function thinned(occasions: readonly Occasion[]): readonly Occasion[] {
  if (occasions.length <= MAX_OCCASIONS) return occasions;
  const newest = occasions.at(-1);
  const losses = occasions
    .slice(1, MAX_OCCASIONS / 2)
    .map((occasion, i) => lossWithout(occasion, occasions[i], occasions[i + 2], newest));
  const least = losses.indexOf(Math.min(...losses)) + 1;
  const dropped = occasions[least];
  const heir = occasions[least + 1];
  if (dropped === undefined || heir === undefined) return occasions;
  return occasions.toSpliced(least, 2, { ...heir, quietMs: Math.max(heir.quietMs, dropped.quietMs) });
}

function lossWithout(it: Occasion, before: Occasion = it, after: Occasion = it, newest: Occasion = it): number {
  return (after.startMs - before.endMs) / (newest.startMs - it.startMs + 1);
}

/** What the trace amounts to at `nowMs`. Occasions that lie after `nowMs` do not count yet. */
export function judge(trace: UnauthorizedTrace, rule: PersistenceRule, nowMs: number): Verdict {
  const past = trace.occasions.filter(occasion => occasion.startMs <= nowMs);
  const episode = ongoingEpisode(past);
  const counted = episode.filter(occasion => nowMs - occasion.startMs < rule.windowMs);
  const first = counted[0];
  const last = counted.at(-1);
  const ongoing =
    last !== undefined && !hasEnded(episode, past.length < trace.occasions.length ? 0 : trace.quietMs, nowMs);
  if (first === undefined || !ongoing) return { state: "quiet", occasions: 0 };
  const lastMs = Math.min(last.endMs, nowMs);
  const persistent = counted.length >= rule.occasions && lastMs - first.startMs >= rule.minDurationMs;
  const state = persistent ? "persistent" : "suspected";
  return { state, occasions: counted.length, firstMs: first.startMs, lastMs };
}

/**
 * The occasions since the client last recovered. A silence ends an episode when it is long by the measure of the
 * occasions on either side of it: a burst at the start and a line many minutes later have nothing to do with each other.
 */
function ongoingEpisode(occasions: readonly Occasion[]): readonly Occasion[] {
  const sinceEarlier = splitByLater(occasions, false);
  return splitByLater(sinceEarlier.toReversed(), true).toReversed();
}

/** Walks on from one end and begins anew at each silence that is long by the measure of what was walked before it. */
function splitByLater(occasions: readonly Occasion[], backwards: boolean): readonly Occasion[] {
  let begin = 0;
  let longestMs = 0;
  for (let i = 1; i < occasions.length; i++) {
    // The silence between two occasions is kept by the later of the two.
    const quietMs = occasions[backwards ? i - 1 : i]?.quietMs ?? 0;
    const ended = i - begin >= 2 && quietMs > curedAfter(longestMs);
    if (ended && backwards) return occasions.slice(0, i);
    if (ended) begin = i;
    longestMs = ended ? 0 : Math.max(longestMs, quietMs);
  }
  return occasions.slice(begin);
}

function curedAfter(longestQuietMs: number): number {
  return Math.max(CURED_AFTER_MS, CURED_AFTER_GAPS * longestQuietMs);
}

/** Whether the episode is over by now: too long ago, or the container was seen to live on without 401s for too long. */
function hasEnded(episode: readonly Occasion[], quietMs: number, nowMs: number): boolean {
  const last = episode.at(-1);
  if (last === undefined) return true;
  let longestGapMs = 0;
  let longestQuietMs = 0;
  episode.slice(1).forEach((occasion, i) => {
    longestGapMs = Math.max(longestGapMs, occasion.startMs - (episode[i]?.endMs ?? occasion.startMs));
    longestQuietMs = Math.max(longestQuietMs, occasion.quietMs);
  });
  const recentMs = Math.min(MAX_RECENT_MS, Math.max(RECENT_MS, RECENT_GAPS * longestGapMs));
  return nowMs - last.endMs > recentMs || quietMs > curedAfter(longestQuietMs);
}
