import type { BindingStatus } from "../../api/controller-resilience";
import type { Steps } from "../../core/slices";
import type { BindingView } from "../../core/views";
import { readExpiry } from "./conventions";
import { bindingId, isRecorded } from "./record";
import { markedOf } from "./schedule";

/** Bytes of status.bindings, out of the 512 KiB that the engine allows for the whole status: some 600 ordinary bindings. */
const MAX_BYTES = 432 * 1024;

/** Bytes of a record besides the binding's own content: times, uid, states and field names. */
const RECORD_BYTES = 528;

/** Which bindings have a slot in status. */
export interface Slots {
  readonly withSlot: readonly BindingView[];
  /** What status keeps of bindings that have outgrown their slot. */
  readonly remembered: readonly BindingStatus[];
  readonly withoutSlot: WithoutSlot;
}

/** Bindings that the operator does not renew, because status has no room for their records; those with the skip annotation do not count. */
export interface WithoutSlot {
  readonly count: number;
  /** First expiry among them, in milliseconds since the epoch; absent if none expires. */
  readonly firstExpiryMs?: number;
}

/** What the assignment depends on. */
export interface SlotOptions {
  /** All entries of status.bindings by id. */
  readonly records: ReadonlyMap<string, BindingStatus>;
  /** The entry of this binding; undefined if that describes a predecessor of the same name. */
  readonly recordOf: (view: BindingView) => BindingStatus | undefined;
  /** Reports whether the binding is not renewed whenever it expires. */
  readonly isExcluded: (view: BindingView) => boolean;
}

interface Candidate {
  readonly view: BindingView;
  readonly bytes: number;
  readonly rank: number;
  readonly expiryMs: number;
  /** The part of its record that stays if the whole does not fit. */
  readonly memory: BindingStatus | undefined;
  /** Bytes reserved for the memory. */
  readonly reserved: number;
}

/**
 * Assigns slots in status to as many bindings as fit. A binding can only be renewed if its record is in status, since neither its life nor
 * the last renewal can be derived from the binding itself. Bindings with a slot keep it: a renewal, which moves the expiry, must not cost
 * the slot. The next to expire follow, and bindings that are not renewed anyway come last. Pure.
 */
export function* assignSlots(found: readonly BindingView[], options: SlotOptions): Steps<Slots> {
  const ids = new Set(found.map(bindingId));
  let used = 0;
  for (const [id, record] of options.records) if (!ids.has(id)) used += bytesOf(record);
  const candidates: Candidate[] = [];
  for (const view of found) {
    const candidate = candidateOf(view, options);
    candidates.push(candidate);
    used += candidate.reserved;
    yield;
  }
  const withSlot = new Set<BindingView>();
  const remembered: BindingStatus[] = [];
  let withoutSlot: WithoutSlot = { count: 0 };
  for (const { view, bytes, expiryMs, memory, reserved } of candidates.toSorted(byRankAndExpiry)) {
    yield;
    const others = used - reserved;
    if (others + bytes <= MAX_BYTES) {
      withSlot.add(view);
      used = others + bytes;
      continue;
    }
    if (!view.skip) withoutSlot = withOneMore(withoutSlot, expiryMs);
    if (memory === undefined || others + bytesOf(memory) > MAX_BYTES) continue;
    remembered.push(memory);
    used = others + bytesOf(memory);
  }
  return { withSlot: found.filter(view => withSlot.has(view)), remembered, withoutSlot };
}

function candidateOf(view: BindingView, options: SlotOptions): Candidate {
  const record = options.recordOf(view);
  const memory = record && memoryOf(record);
  const rank = rankOf(view, record, options);
  // The memory of excluded bindings takes no slot from the others.
  const reserved = memory === undefined || rank === EXCLUDED ? 0 : bytesOf(memory);
  return { view, bytes: bytesOf(view), rank, expiryMs: expiryMsOf(view), memory, reserved };
}

/** Only what decides whether the binding is renewed later. */
function memoryOf(record: BindingStatus): BindingStatus {
  const memory = { ...record };
  delete memory.roleRef;
  delete memory.subjects;
  delete memory.renewTime;
  return memory;
}

/** Has a slot; has none, or only a memory; is not renewed anyway. */
const [KEPT, NEW, EXCLUDED] = [0, 1, 2];

function rankOf(view: BindingView, record: BindingStatus | undefined, { isExcluded }: SlotOptions): number {
  if (isExcluded(view)) return EXCLUDED;
  return record !== undefined && isRecorded(record) ? KEPT : NEW;
}

function byRankAndExpiry(a: Candidate, b: Candidate): number {
  return a.rank - b.rank || (a.expiryMs === b.expiryMs ? 0 : a.expiryMs - b.expiryMs);
}

function expiryMsOf(view: BindingView): number {
  return readExpiry(markedOf(view)).earliest?.atMs ?? Infinity;
}

function withOneMore({ count, firstExpiryMs = Infinity }: WithoutSlot, expiryMs: number): WithoutSlot {
  const firstMs = Math.min(firstExpiryMs, expiryMs);
  return { count: count + 1, ...(Number.isFinite(firstMs) ? { firstExpiryMs: firstMs } : {}) };
}

function bytesOf({ name, subjects, roleRef }: BindingView | BindingStatus): number {
  return RECORD_BYTES + Buffer.byteLength(JSON.stringify([name, subjects, roleRef]));
}
