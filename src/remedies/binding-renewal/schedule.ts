import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { parseDuration } from "../../core/duration";
import type { BindingView } from "../../core/views";
import { type Change, readExpiry, withChange, type Expiry, type Marked } from "./conventions";

/**
 * A renewal comes at most a third of its extension before the expiry, even if renewBefore is longer; a warning at most two thirds of the
 * extension or of the life. Otherwise every pass would renew a binding with a life of an hour, until its expiry lies renewBefore ahead.
 * cert-manager uses a third if a certificate lives no longer than its renewBefore.
 */
const RENEW_SHARE = 1 / 3;
const WARN_SHARE = 2 / 3;

/** A form whose rounding loses more than a third of the extension is not used: the rest could be due again immediately. */
const KEPT_SHARE = 2 / 3;

/**
 * An expired binding is extended from the present, rounded down to steps of this time and of this share of the extension: the next pass
 * must plan the expiry that this pass records.
 */
const STEP_MS = 600_000;
const STEP_SHARE = 1 / 10;

/** Passes may be further apart than a step: a recorded expiry remains the plan while it leaves this share of an extension. */
const WORTH_SHARE = 1 / 2;

/**
 * Minimum life, unless the binding is younger: an expiry written shortly before it passes must not cause renewals every few seconds.
 */
const LEAST_LIFE_MS = 3_600_000;

/** Minimum gain of a renewal, or half of its extension: the rest before renewUntil is not worth a write. */
const LEAST_GAIN_MS = 70_000;

/** When a binding expires, and when the operator warns and renews. Times in milliseconds since the epoch. */
export interface Schedule {
  readonly expiryMs: number;
  /** The keys that contain this expiry. */
  readonly sources: readonly string[];
  /** From creation, or from the write of an absolute expiry, to the expiry. The default extension. */
  readonly lifeMs: number;
  /** By how much a renewal extends. */
  readonly extendByMs: number;
  readonly warnAtMs: number;
  readonly renewAtMs: number;
}

/**
 * The schedule of a binding; undefined if it has no expiry. The life follows from the expiry before the first renewal, and from the record
 * after it.
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
  const renewBeforeMs = renewBeforeOf(spec, extendByMs);
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

function renewBeforeOf({ renewBefore }: BindingRenewalSpec, extendByMs: number): number {
  return Math.min(parseDuration(renewBefore), extendByMs * RENEW_SHARE);
}

function extensionOf({ extendBy }: BindingRenewalSpec, lifeMs: number): number {
  return extendBy === "" ? lifeMs : parseDuration(extendBy);
}

/**
 * A value such as refreshed-at moves the expiry and is not part of the life. Nor is the time before an absolute expiry was written: "a
 * month from now", written on a binding of three years, means a month.
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

/** Limits of a planned expiry. */
export interface Bounds {
  readonly nowMs: number;
  /** The latest expiry. */
  readonly latestMs: number;
  /** The expiry that the previous pass planned and recorded. */
  readonly renewingUntil?: string | undefined;
}

/** What a renewal writes, and the new expiry. */
export interface Renewal {
  readonly changes: readonly Change[];
  readonly expiryMs: number;
}

/**
 * Plans a later expiry: one value per convention that the binding uses, in the form that was found, at most `extendByMs` later and never
 * after `latestMs`. An expired binding keeps the recorded plan `renewingUntil` while that is valid. Undefined if no later time can be
 * written.
 */
export function planRenewal(
  marked: Marked,
  { readings }: Expiry,
  schedule: Schedule,
  bounds: Bounds,
): Renewal | undefined {
  const { nowMs, latestMs } = bounds;
  const planned = schedule.expiryMs > nowMs ? undefined : asPlanned(marked, schedule.extendByMs, bounds);
  if (planned !== undefined) return planned;
  const fromMs = startOf(schedule, nowMs);
  const targetMs = Math.min(fromMs + schedule.extendByMs, latestMs);
  const changes = readings.flatMap(({ convention, atMs }) =>
    atMs < targetMs ? (convention.write(marked, targetMs, leastOf(fromMs, targetMs, latestMs)) ?? []) : [],
  );
  return checked(marked, changes, fromMs + Math.min(LEAST_GAIN_MS, schedule.extendByMs / 2));
}

/** An expired binding is extended from now: from its expiry, the result could be in the past. */
function startOf({ expiryMs, extendByMs }: Schedule, nowMs: number): number {
  return Math.max(expiryMs, roundedDown(nowMs, extendByMs));
}

/** The present, rounded down to a step. */
function roundedDown(nowMs: number, extendByMs: number): number {
  return nowMs - (nowMs % Math.max(1, Math.min(STEP_MS, extendByMs * STEP_SHARE)));
}

/** The recorded plan, to the second, if it is still valid. */
function asPlanned(
  marked: Marked,
  extendByMs: number,
  { nowMs, latestMs, renewingUntil = "" }: Bounds,
): Renewal | undefined {
  const untilMs = Date.parse(renewingUntil);
  const leftMs = untilMs - nowMs;
  const isGood = untilMs <= latestMs && leftMs >= extendByMs * WORTH_SHARE && leftMs <= extendByMs;
  if (!isGood) return undefined;
  // Status has whole seconds, and an expiry may lie between two of them.
  const lastMs = Math.min(untilMs + 999, latestMs);
  const { readings } = readExpiry(marked);
  const changes = readings.flatMap(({ convention }) => convention.write(marked, lastMs, untilMs - 1) ?? []);
  return checked(marked, changes, untilMs - 1);
}

/** The minimum of a planned expiry. At the cap it is so close to `latestMs` that another renewal would gain too little. */
function leastOf(fromMs: number, targetMs: number, latestMs: number): number {
  const leastMs = fromMs + (targetMs - fromMs) * KEPT_SHARE;
  return targetMs < latestMs ? leastMs : Math.max(leastMs, latestMs - LEAST_GAIN_MS);
}

/** The earliest of all conventions must be later, or its enforcer deletes the binding. */
function checked(marked: Marked, changes: readonly Change[], laterThanMs: number): Renewal | undefined {
  const after = readExpiry(changes.reduce<Marked>(withChange, marked));
  const expiryMs = after.earliest?.atMs;
  if (changes.length === 0 || expiryMs === undefined || expiryMs <= laterThanMs) return undefined;
  return { changes, expiryMs };
}

/** The part of a binding that conventions read. */
export function markedOf(view: BindingView): Marked {
  const { createdAtMs, labels, annotations, writtenMs } = view;
  return { createdAtMs, labels, annotations, ...(writtenMs === undefined ? {} : { writtenMs }) };
}

/** spec.renewUntil in milliseconds since the epoch; Infinity if unset. The API server also accepts a comma before fractions. */
export function renewUntilMs({ renewUntil }: BindingRenewalSpec): number {
  return renewUntil === undefined || renewUntil === null ? Infinity : Date.parse(renewUntil.replace(",", "."));
}
