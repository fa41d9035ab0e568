import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { parseDuration } from "../../core/duration";
import type { BindingView } from "../../core/views";
import { type Change, readExpiry, withChange, type Expiry, type Marked } from "./conventions";

/**
 * A renewal comes no earlier than a third of what it extends by before the end, however long renewBefore is; a warning no earlier than two
 * thirds of it, or of the binding's life. Otherwise a binding that lives for an hour would be renewed at every pass, until its end lies
 * renewBefore ahead. A third is what cert-manager uses where a certificate lives no longer than its renewBefore.
 */
const RENEW_SHARE = 1 / 3;
const WARN_SHARE = 2 / 3;

/** A form that would lose more than a third of an extension is not taken: what is left of it could be due again at once. */
const KEPT_SHARE = 2 / 3;

/**
 * What is over is extended from the present, which stands still for so long, and for so much of an extension: what is written down in
 * one pass has to be the plan of the next.
 */
const STEP_MS = 600_000;
const STEP_SHARE = 1 / 10;

/** Passes may be further apart than that: what was written down stays the plan while it is worth so much of an extension. */
const WORTH_SHARE = 1 / 2;

/**
 * A life is at least so long, unless the binding itself is younger: who owns the expiry and writes something else shortly before the end
 * must not have it renewed every few seconds.
 */
const LEAST_LIFE_MS = 3_600_000;

/** Longest time between the decision to restore and the creation on the server that is allowed for. Where renewUntil is near, so much is left out. */
const CREATION_TAKES_MS = 60_000;

/**
 * A renewal gains at least this much, or half of what it extends by: more than what is left out of a restored binding's life, with what whole
 * seconds take. Else it would be renewed as soon as it is there.
 */
const LEAST_GAIN_MS = CREATION_TAKES_MS + 10_000;

/** When a binding ends, and when something is to be done about it. Times in milliseconds since the epoch. */
export interface Schedule {
  readonly expiryMs: number;
  /** The keys that say so. */
  readonly sources: readonly string[];
  /** From creation, or from when a moment was written that is the expiry, to the expiry; what a renewal extends by unless the spec says otherwise. */
  readonly lifeMs: number;
  /** By how much a renewal extends. */
  readonly extendByMs: number;
  readonly warnAtMs: number;
  readonly renewAtMs: number;
}

/**
 * The schedule of a binding; undefined where it has no expiry. Its life is what its expiry says before the first renewal, and what was
 * recorded then after it.
 */
export function scheduleOf(
  marked: Marked,
  expiry: Expiry,
  spec: BindingRenewalSpec,
  record: BindingStatus | undefined,
): Schedule | undefined {
  const { earliest } = expiry;
  if (earliest === undefined) return undefined;
  const isRenewed = record?.renewedUntil !== undefined && record.lifeSeconds !== undefined;
  const lifeMs = isRenewed ? 1000 * (record.lifeSeconds ?? 0) : lifeOf(marked, expiry, earliest.atMs);
  const extendByMs = extensionOf(spec, lifeMs);
  const renewBeforeMs = Math.min(parseDuration(spec.renewBefore), extendByMs * RENEW_SHARE);
  const warnBeforeMs = Math.min(parseDuration(spec.warnBefore), Math.max(extendByMs, lifeMs) * WARN_SHARE);
  return {
    expiryMs: earliest.atMs,
    sources: earliest.sources,
    lifeMs,
    extendByMs,
    renewAtMs: Math.ceil(earliest.atMs - renewBeforeMs),
    warnAtMs: Math.ceil(earliest.atMs - Math.max(warnBeforeMs, renewBeforeMs)),
  };
}

function extensionOf({ extendBy }: BindingRenewalSpec, lifeMs: number): number {
  return extendBy === "" ? lifeMs : parseDuration(extendBy);
}

/**
 * A value such as refreshed-at moves the end, but is not part of the life. Nor is the time before a moment was written: put on a binding of
 * three years, "a month from now" means a month.
 */
function lifeOf(marked: Marked, { readings }: Expiry, expiryMs: number): number {
  const lives = readings
    .filter(({ atMs }) => atMs === expiryMs)
    .map(({ convention, atMs }) => {
      const moved = convention.keys.filter(key => key !== convention.key);
      const annotations = Object.fromEntries(
        Object.entries(marked.annotations).filter(([key]) => !moved.includes(key)),
      );
      const original = { ...marked, annotations };
      const reading = convention.read(original);
      const endMs = reading?.kind === "expires" ? reading.atMs : atMs;
      const sinceMs = convention.isRelative(original) ? undefined : marked.writtenMs?.[convention.key];
      return lifeSince(sinceMs ?? marked.createdAtMs, endMs, marked.createdAtMs);
    });
  return Math.max(0, Math.min(...lives));
}

function lifeSince(sinceMs: number, endMs: number, createdAtMs: number): number {
  return Math.min(Math.max(endMs - sinceMs, LEAST_LIFE_MS), endMs - createdAtMs);
}

/** What bounds the end that is planned. */
export interface Bounds {
  readonly nowMs: number;
  /** Nothing ends later. */
  readonly latestMs: number;
  /** What status tells of the plan of the pass before. */
  readonly renewingUntil?: string | undefined;
}

/** What a renewal writes, and when the binding expires then. */
export interface Renewal {
  readonly changes: readonly Change[];
  readonly expiryMs: number;
}

/**
 * What to write so that a binding expires later: one value of each convention that it uses, in the form that was found, at most
 * `extendByMs` later than now planned, and never after `latestMs`. What is over already ends when `renewingUntil` says, as long as that
 * will do. Undefined where no later time can be had.
 */
export function planRenewal(
  marked: Marked,
  { readings }: Expiry,
  schedule: Schedule,
  bounds: Bounds,
): Renewal | undefined {
  const { nowMs, latestMs } = bounds;
  const planned = schedule.expiryMs > nowMs ? undefined : asPlanned("write", marked, schedule.extendByMs, bounds);
  if (planned !== undefined) return planned;
  const fromMs = startOf(schedule, nowMs);
  const targetMs = Math.min(fromMs + schedule.extendByMs, latestMs);
  const changes = readings.flatMap(({ convention, atMs }) =>
    atMs < targetMs ? (convention.write(marked, targetMs, leastOf(fromMs, targetMs, latestMs)) ?? []) : [],
  );
  return checked(marked, changes, fromMs + Math.min(LEAST_GAIN_MS, schedule.extendByMs / 2));
}

/** What is over already is extended from now: from its end, it could be over still. */
function startOf({ expiryMs, extendByMs }: Schedule, nowMs: number): number {
  return Math.max(expiryMs, standing(nowMs, extendByMs));
}

/** The present as it stands still. */
function standing(nowMs: number, extendByMs: number): number {
  return nowMs - (nowMs % Math.max(1, Math.min(STEP_MS, extendByMs * STEP_SHARE)));
}

/** The plan that status tells of, to the second, where it will do still. */
function asPlanned(
  write: "write" | "writeAnew",
  marked: Marked,
  extendByMs: number,
  { nowMs, latestMs, renewingUntil = "" }: Bounds,
): Renewal | undefined {
  const untilMs = Date.parse(renewingUntil);
  const leftMs = untilMs - nowMs;
  const isGood = untilMs <= latestMs && leftMs >= extendByMs * WORTH_SHARE && leftMs <= extendByMs;
  if (!isGood) return undefined;
  // Status tells of whole seconds, and an expiry may lie between two of them.
  const lastMs = Math.min(untilMs + 999, latestMs);
  const { readings } = readExpiry(marked);
  const changes = readings.flatMap(({ convention }) => convention[write](marked, lastMs, untilMs - 1) ?? []);
  return checked(marked, changes, untilMs - 1);
}

/** What a restored binding carries. */
export interface Restoring extends Renewal {
  /** Whether it ends just then, whenever the API server creates it: what counts from the creation does not. */
  readonly isExact: boolean;
}

/** What a binding that is created again has to carry, so that it lives for as long as a renewal extends by, and never past `latestMs`. */
export function planRestore(
  record: BindingStatus,
  spec: BindingRenewalSpec,
  bounds: Omit<Bounds, "renewingUntil">,
): Restoring | undefined {
  const { nowMs, latestMs } = bounds;
  const marked = { createdAtMs: nowMs, labels: record.labels ?? {}, annotations: record.annotations ?? {} };
  const extendByMs = extensionOf(spec, 1000 * (record.lifeSeconds ?? 0));
  const { readings } = readExpiry(marked);
  const isExact = !readings.some(({ convention }) => convention.isRelative(marked));
  const { renewingUntil } = record;
  const planned = isExact ? asPlanned("writeAnew", marked, extendByMs, { ...bounds, renewingUntil }) : undefined;
  if (planned !== undefined) return { ...planned, isExact };
  const fromMs = isExact ? standing(nowMs, extendByMs) : nowMs;
  const changes = readings.flatMap(({ convention }) => {
    // What counts from the creation counts from when the API server has created it, not from now.
    const capMs = convention.isRelative(marked) ? latestMs - CREATION_TAKES_MS : latestMs;
    const targetMs = Math.min(fromMs + extendByMs, capMs);
    return convention.writeAnew(marked, targetMs, leastOf(fromMs, targetMs, capMs, latestMs)) ?? [];
  });
  // A life so short would be worth a renewal for what is left out, and at once if it is nearly over: not for the last seconds of it.
  const isToLast = isExact || extendByMs * WORTH_SHARE >= LEAST_GAIN_MS;
  const renewal = checked(marked, changes, isToLast ? nowMs : nowMs + extendByMs * RENEW_SHARE);
  return renewal && { ...renewal, isExact };
}

/** The last end that can be had, `capMs`, comes as close to `latestMs` as a renewal is worth: another one would gain too little. */
function leastOf(fromMs: number, targetMs: number, capMs: number, latestMs = capMs): number {
  const leastMs = fromMs + (targetMs - fromMs) * KEPT_SHARE;
  return targetMs < capMs ? leastMs : Math.max(leastMs, latestMs - LEAST_GAIN_MS);
}

/** All conventions together must say a later time, or the earliest of them deletes the binding all the same. */
function checked(marked: Marked, changes: readonly Change[], laterThanMs: number): Renewal | undefined {
  const after = readExpiry(changes.reduce<Marked>(withChange, marked));
  const expiryMs = after.earliest?.atMs;
  if (changes.length === 0 || expiryMs === undefined || expiryMs <= laterThanMs) return undefined;
  return { changes, expiryMs };
}

/** What conventions read of a binding. */
export function markedOf(view: BindingView): Marked {
  const { createdAtMs, labels, annotations, writtenMs } = view;
  return { createdAtMs, labels, annotations, ...(writtenMs === undefined ? {} : { writtenMs }) };
}

/** spec.renewUntil in milliseconds since the epoch; Infinity where there is none. The API server takes a comma before fractions as well. */
export function renewUntilMs({ renewUntil }: BindingRenewalSpec): number {
  return renewUntil === undefined || renewUntil === null ? Infinity : Date.parse(renewUntil.replace(",", "."));
}
