import type { BindingStatus } from "../../api/controller-resilience";
import type { Steps } from "../../core/slices";
import type { BindingView } from "../../core/views";
import { readExpiry } from "./conventions";
import { bindingId, isRecorded } from "./facts";
import { markedOf } from "./schedule";

/** Bytes of status that the records of bindings may take, of the 512 KiB that the engine lets all of it have: some 700 ordinary ones. */
const ROOM_BYTES = 400 * 1024;

/** Of a record without what is the binding's own: times, uid, states, and the names of the fields. */
const RECORD_BYTES = 448;

/** Bindings that are looked after, and how many there is no room for. */
export interface Placed {
  readonly placed: readonly BindingView[];
  /** What is remembered of those that there is no room for any more. */
  readonly remembered: readonly BindingStatus[];
  readonly unplaced: Unplaced;
}

/** Bindings that nothing is done for, since their records would not fit into status; none that is to be left alone anyway. */
export interface Unplaced {
  readonly count: number;
  /** When the first of them expires, in milliseconds since the epoch; absent where none does. */
  readonly firstExpiryMs?: number;
}

/** What decides who is placed. */
export interface Places {
  readonly records: ReadonlyMap<string, BindingStatus>;
  /** Of that very binding, not of a predecessor of its name. */
  readonly recordOf: (view: BindingView) => BindingStatus | undefined;
  /** Whether it can be told, whatever its expiry, that it is not to be renewed. */
  readonly isExcluded: (view: BindingView) => boolean;
}

interface Candidate {
  readonly view: BindingView;
  readonly bytes: number;
  readonly rank: number;
  readonly expiryMs: number;
  /** What stays of its record where there is no room for all of it. */
  readonly memory: BindingStatus | undefined;
  /** Bytes that are set aside for that. */
  readonly reserved: number;
}

/**
 * What is renewed has to stand in status: its life, and until when it was renewed, can't be told from the binding any more. So there is a
 * place for as many as fit. Who has one keeps it, or a renewal, which moves the end, would cost it; the next to expire come next; those
 * that are not renewed anyway come last. Who outgrows the room is remembered in short. Pure.
 */
export function* place(found: readonly BindingView[], places: Places): Steps<Placed> {
  const ids = new Set(found.map(bindingId));
  let used = 0;
  for (const [id, record] of places.records) if (!ids.has(id)) used += bytesOf(record);
  const candidates: Candidate[] = [];
  for (const view of found) {
    const candidate = candidateOf(view, places);
    candidates.push(candidate);
    used += candidate.reserved;
    yield;
  }
  const placed = new Set<BindingView>();
  const remembered: BindingStatus[] = [];
  let left: Unplaced = { count: 0 };
  for (const { view, bytes, expiryMs, memory, reserved } of candidates.toSorted(byNeed)) {
    yield;
    const others = used - reserved;
    if (others + bytes <= ROOM_BYTES) {
      placed.add(view);
      used = others + bytes;
      continue;
    }
    // Who asked for it to be left alone misses nothing.
    if (!view.skip) left = withOneMore(left, expiryMs);
    if (memory === undefined || others + bytesOf(memory) > ROOM_BYTES) continue;
    remembered.push(memory);
    used = others + bytesOf(memory);
  }
  return { placed: found.filter(view => placed.has(view)), remembered, unplaced: left };
}

function candidateOf(view: BindingView, places: Places): Candidate {
  const record = places.recordOf(view);
  const memory = record && memoryOf(record);
  const rank = rankOf(view, record, places);
  // What is known of those that are not renewed anyway takes no place from those that are.
  const reserved = memory === undefined || rank === EXCLUDED ? 0 : bytesOf(memory);
  return { view, bytes: bytesOf(view), rank, expiryMs: expiryOf(view), memory, reserved };
}

/**
 * Not what it takes to create it again: nothing is done for it meanwhile, so nobody would notice that it has changed, and what is gone
 * would come back as it once was.
 */
function memoryOf(record: BindingStatus): BindingStatus {
  const memory = { ...record };
  delete memory.roleRef;
  delete memory.subjects;
  delete memory.labels;
  delete memory.annotations;
  delete memory.renewTime;
  return memory;
}

/** Ranks: who has a place, who has none or only a memory, and who is not renewed anyway. */
const [PLACED, NEW, EXCLUDED] = [0, 1, 2];

function rankOf(view: BindingView, record: BindingStatus | undefined, { isExcluded }: Places): number {
  if (isExcluded(view)) return EXCLUDED;
  return record !== undefined && isRecorded(record) ? PLACED : NEW;
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
