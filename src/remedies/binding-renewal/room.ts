import type { BindingStatus } from "../../api/controller-resilience";
import type { Steps } from "../../core/turns";
import type { BindingView } from "../../core/views";
import { readExpiry } from "./conventions";
import { bindingId } from "./facts";
import { markedOf } from "./schedule";

/** Bytes of status that the records of bindings may take, of the 512 KiB that the engine lets all of it have: some 700 ordinary ones. */
const ROOM_BYTES = 400 * 1024;

/** Of a record without what is the binding's own: times, uid, states, and the names of the fields. */
const RECORD_BYTES = 448;

/** Bindings that are looked after, and how many there is no room for. */
export interface Placed {
  readonly placed: readonly BindingView[];
  readonly unplaced: Unplaced;
}

/** Bindings that nothing is done for, since their records would not fit into status. */
export interface Unplaced {
  readonly count: number;
  /** When the first of them expires, in milliseconds since the epoch; absent where none does. */
  readonly firstExpiryMs?: number;
}

/** What decides who is placed. */
export interface Places {
  readonly records: ReadonlyMap<string, BindingStatus>;
  /** Of that very binding, not of a predecessor of its name. */
  readonly isRecorded: (view: BindingView) => boolean;
  /** Whether it can be told, whatever its expiry, that it is not to be renewed. */
  readonly isExcluded: (view: BindingView) => boolean;
}

interface Candidate {
  readonly view: BindingView;
  readonly bytes: number;
  readonly rank: number;
  readonly expiryMs: number;
}

/**
 * What is renewed has to stand in status: its life, and until when it was renewed, can't be told from the binding any more. So there is a
 * place for as many as fit. Who has one keeps it, or a renewal, which moves the end, would cost it; the next to expire come next; those
 * that are not renewed anyway come last. Pure.
 */
export function* place(found: readonly BindingView[], places: Places): Steps<Placed> {
  const ids = new Set(found.map(bindingId));
  let used = 0;
  for (const [id, record] of places.records) if (!ids.has(id)) used += bytesOf(record);
  const candidates: Candidate[] = [];
  for (const view of found) {
    candidates.push({ view, bytes: bytesOf(view), rank: rankOf(view, places), expiryMs: expiryOf(view) });
    yield;
  }
  const placed = new Set<BindingView>();
  let left: Unplaced = { count: 0 };
  for (const { view, bytes, expiryMs } of candidates.toSorted(byNeed)) {
    if (used + bytes <= ROOM_BYTES) {
      placed.add(view);
      used += bytes;
    } else left = withOneMore(left, expiryMs);
  }
  return { placed: found.filter(view => placed.has(view)), unplaced: left };
}

function rankOf(view: BindingView, { isRecorded, isExcluded }: Places): number {
  if (isExcluded(view)) return 2;
  return isRecorded(view) ? 0 : 1;
}

function byNeed(a: Candidate, b: Candidate): number {
  return a.rank - b.rank || (a.expiryMs === b.expiryMs ? 0 : a.expiryMs - b.expiryMs);
}

function expiryOf(view: BindingView): number {
  return readExpiry(markedOf(view)).earliest?.atMs ?? Infinity;
}

function withOneMore({ count, firstExpiryMs = Infinity }: Unplaced, expiryMs: number): Unplaced {
  const firstMs = Math.min(firstExpiryMs, expiryMs);
  return { count: count + 1, ...(Number.isFinite(firstMs) ? { firstExpiryMs: firstMs } : {}) };
}

function bytesOf({ name, labels, annotations, subjects, roleRef }: BindingView | BindingStatus): number {
  return RECORD_BYTES + Buffer.byteLength(JSON.stringify([name, labels, annotations, subjects, roleRef]));
}
