import { LATEST_EXPIRY_ANNOTATION, LIFE_ANNOTATION } from "../../api/names";
import type { BindingRenewalSpec, BindingStatus } from "../../api/controller-resilience";
import { parseDuration, toSeconds } from "../../core/time";
import type { BindingView } from "../../core/views";
import {
  type Change,
  type Deadline,
  type Malformed,
  malformed,
  type Marked,
  rfc3339Ms,
  writeExpiry,
} from "./conventions";

// When a binding expires and is renewed, what the operator remembers of it, and what a renewal writes. Pure.

/**
 * A renewal comes at most a third of its extension before the expiry, even if renewBefore is longer; a warning at most two thirds of the
 * extension or of the life. Otherwise every pass would renew a binding with a life of an hour, until its expiry lies renewBefore ahead.
 * cert-manager uses a third if a certificate lives no longer than its renewBefore.
 */
const RENEW_SHARE = 1 / 3;
const WARN_SHARE = 2 / 3;

/**
 * Minimum life, unless the binding is younger: an expiry written shortly before it passes must not cause renewals every few seconds.
 */
const LEAST_LIFE_MS = 3_600_000;

/** Minimum gain of a renewal, or half of its extension: the rest before renewUntil is not worth a write. */
const LEAST_GAIN_MS = 70_000;

/** 0000-01-01T00:00:00Z, the first time in RFC 3339. */
const FIRST_MS = -62_167_219_200_000;

/** RFC 3339 in whole seconds, as in status and annotations. */
export function timeOf(ms: number): string {
  return toSeconds(new Date(Math.max(ms, FIRST_MS)));
}

/** What the operator remembers of a binding, on the binding itself: so it outlives every ControllerResilience. */
export interface Memory {
  /** The latest expiry that was seen or written; -Infinity if none is remembered. */
  readonly latestMs: number;
  /** The life before the first renewal; absent before that. */
  readonly lifeMs?: number;
  /** The binding has the annotation. */
  readonly isNoted: boolean;
  readonly malformed: readonly Malformed[];
}

const LIFE = /^[1-9]\d{0,11}$/;

/**
 * Reads the memory of a binding. Where the annotation of the latest expiry is absent, as when a tool replaces the binding, the entry of
 * status counts.
 */
export function memoryOf({ annotations }: Pick<BindingView, "annotations">, record: BindingStatus | undefined): Memory {
  const latest = annotations[LATEST_EXPIRY_ANNOTATION];
  const life = annotations[LIFE_ANNOTATION];
  const isLife = LIFE.test(life ?? "");
  const latestMs = rfc3339Ms(latest ?? record?.latestExpiryTime ?? "") ?? -Infinity;
  return {
    latestMs,
    isNoted: latest !== undefined,
    ...(isLife ? { lifeMs: Number(life) * 1_000 } : {}),
    malformed: [
      ...unless(Number.isFinite(latestMs), LATEST_EXPIRY_ANNOTATION, latest, "a time in RFC 3339"),
      ...unless(isLife, LIFE_ANNOTATION, life, "a whole number of seconds"),
    ],
  };
}

function unless(isReadable: boolean, key: string, value: string | undefined, expected: string): Malformed[] {
  return isReadable || value === undefined ? [] : [malformed(key, value, expected)];
}

/** Reports whether the expiry is earlier than the latest one: a person's word, or a tool that resets the binding. The operator never moves it. */
export function isContested({ latestMs }: Memory, expiryMs: number): boolean {
  return wholeSeconds(expiryMs) < wholeSeconds(latestMs);
}

/** The value of the annotation that the binding should have; undefined if it has it. */
export function noteOf(memory: Memory, expiryMs: number): string | undefined {
  const latestMs = Math.max(memory.latestMs, wholeSeconds(expiryMs));
  return memory.isNoted && latestMs <= memory.latestMs ? undefined : timeOf(latestMs);
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

/** When a binding expires, and when the operator warns and renews. Times in milliseconds since the epoch. */
export interface Schedule extends Deadline {
  /** From creation, or from the write of an absolute expiry, to the expiry. The default extension. */
  readonly lifeMs: number;
  /** By how much a renewal extends. */
  readonly extendByMs: number;
  readonly warnAtMs: number;
  readonly renewAtMs: number;
  /** From then on a person must act if it is not renewed. */
  readonly stalledAtMs: number;
}

/** A person must act after this time, or after a third of the time that is left for the write, if that is less. */
export const STALLED_AFTER_MS = 3_600_000;

/**
 * The schedule of a binding. extendBy is for bindings that the spec names, whose author may bind their roles; one with the annotation is extended by
 * its own life, as the author of the annotation knows.
 */
export function scheduleOf(
  marked: Marked,
  deadline: Deadline,
  { spec, listed, memory }: { readonly spec: BindingRenewalSpec; readonly listed: boolean; readonly memory: Memory },
): Schedule {
  const { atMs } = deadline;
  const lifeMs = memory.lifeMs ?? lifeOf(marked, deadline);
  const extendByMs = listed && spec.extendBy !== "" ? parseDuration(spec.extendBy) : lifeMs;
  const renewBeforeMs = Math.min(parseDuration(spec.renewBefore), extendByMs * RENEW_SHARE);
  const warnBeforeMs = Math.min(parseDuration(spec.warnBefore), Math.max(extendByMs, lifeMs) * WARN_SHARE);
  const renewAtMs = Math.ceil(atMs - renewBeforeMs);
  return {
    ...deadline,
    lifeMs,
    extendByMs,
    renewAtMs,
    warnAtMs: Math.ceil(atMs - Math.max(warnBeforeMs, renewBeforeMs)),
    stalledAtMs: renewAtMs + Math.min(STALLED_AFTER_MS, (atMs - renewAtMs) / 3),
  };
}

/** The time before an absolute expiry was written is no part of the life: "a month from now", written on a binding of three years, means a month. */
function lifeOf({ createdAtMs, writtenMs }: Marked, { convention, atMs, isRelative }: Deadline): number {
  const sinceMs = (isRelative ? undefined : writtenMs?.[convention.key]) ?? createdAtMs;
  return Math.max(0, Math.min(Math.max(atMs - sinceMs, LEAST_LIFE_MS), atMs - createdAtMs));
}

/** What a renewal writes, and the new expiry. */
export interface Renewal {
  readonly changes: readonly Change[];
  readonly expiryMs: number;
}

/**
 * Plans a later expiry in the form that was found, `extendByMs` after the present one, but never after spec.renewUntil; and the memory of it.
 * Undefined if no later time can be written.
 */
export function planRenewal(marked: Marked, schedule: Schedule, spec: BindingRenewalSpec): Renewal | undefined {
  const { extendByMs, lifeMs } = schedule;
  const targetMs = Math.min(schedule.atMs + extendByMs, renewUntilMs(spec));
  const { change, atMs: expiryMs = -Infinity } = writeExpiry(marked, schedule, targetMs) ?? {};
  if (change === undefined || expiryMs <= schedule.atMs + Math.min(LEAST_GAIN_MS, extendByMs / 2)) return undefined;
  const lifeSeconds = Math.max(1, Math.floor(lifeMs / 1_000));
  const memory = [
    { place: "annotations", key: LATEST_EXPIRY_ANNOTATION, value: timeOf(expiryMs) },
    { place: "annotations", key: LIFE_ANNOTATION, value: String(lifeSeconds) },
  ] as const;
  return { changes: [change, ...memory], expiryMs };
}

/** spec.renewUntil in milliseconds since the epoch; Infinity if unset. The API server also accepts a comma before fractions. */
export function renewUntilMs({ renewUntil }: BindingRenewalSpec): number {
  return renewUntil === undefined || renewUntil === null ? Infinity : Date.parse(renewUntil.replace(",", "."));
}
