import { parseDuration } from "../../../src/core/time";
import { isPaused } from "../programs/widgets";
import { isWrite } from "../server/journal";
import type { Obj } from "../server/objects";
import { conditionsIn, truthsFor } from "./conditions";
import { blockOf } from "./objects";
import type { Report, Sight, Truth } from "./sight";

// Promise 12 for work that is due: no program is accused whose pods work, and what stands still is told in time.

const MINUTE = 60_000;
const LOOK_MS = 30_000;

/** A recovery shows with the next list of the kind, which is read every minute, and the next pass. */
const RECOVERS_MS = 5 * MINUTE;

/** Told so long after `for`: two minutes, and what the reading of the kind takes (docs/remedies/stall-detection.md). */
const TOLD_MS = 3 * MINUTE;

/** All workers are busy for so long, if nothing waits or is due (docs/remedies/stall-detection.md). */
const BUSY_MS = 30 * MINUTE;

/** A kind that has not moved for an hour before is not judged. */
const JUDGED_MS = 55 * MINUTE;

/** What says that a program does not do its work. */
const ACCUSATIONS = ["ProgressStopped", "QueueStuck", "WatchesDead"];

/** Compares what is said of each object with a `progress` block. */
export function checkProgress(sight: Sight, report: Report): void {
  const checks = new ProgressChecks(sight, report);
  sight.clock.every(LOOK_MS, () => checks.look());
}

class ProgressChecks {
  /** When some pod of an object last did not work, or no operator could say so, by the uid of the object. */
  readonly #badMs = new Map<string, number>();
  /** Since when a Widget is due, by its uid. */
  readonly #dueMs = new Map<string, number>();
  /** What their controller has observed in all Widgets of a workload, and since when. */
  readonly #moved = new Map<string, { readonly text: string; readonly atMs: number }>();
  readonly #told = new Set<string>();
  /** When an operator last renewed its Lease. */
  #ledMs = -Infinity;

  constructor(
    private readonly sight: Sight,
    private readonly report: Report,
  ) {
    sight.onRequest(entry => {
      if (entry.resource === "leases" && isWrite(entry) && entry.code === 200) this.#ledMs = this.#nowMs;
    });
  }

  look(): void {
    this.#follow();
    const canTell = this.#canTell();
    for (const object of this.sight.store.list("controllerresiliences")) {
      const pods = truthsFor(this.sight, object);
      const { uid } = object.metadata;
      if (!canTell || pods.some(({ state }) => state !== "works")) this.#badMs.set(uid, this.#nowMs);
      this.#accused(object, pods);
      if (object.spec?.suspend === true) continue;
      for (const pod of pods) if (pod.state === "stuck") this.#untold(object, pod);
    }
  }

  /** Whether an operator leads, and no restore from a backup has just brought back what status said then. */
  #canTell(): boolean {
    const isRestored = this.sight.plan.happenings.some(({ what, atMs, forMs = 0 }) => {
      const sinceMs = this.#nowMs - atMs - forMs;
      return what.startsWith("backup-restored") && sinceMs >= 0 && sinceMs <= LOOK_MS;
    });
    return this.#nowMs - this.#ledMs <= LOOK_MS && !isRestored;
  }

  get #nowMs(): number {
    return this.sight.clock.monotonicMs();
  }

  #follow(): void {
    const moved = new Map<string, string>();
    for (const widget of this.sight.store.list("widgets")) {
      const { uid } = widget.metadata;
      if (!isDue(widget)) this.#dueMs.delete(uid);
      else if (!this.#dueMs.has(uid)) this.#dueMs.set(uid, this.#nowMs);
      const key = keyOf(widget);
      moved.set(key, `${moved.get(key)} ${widget.status?.observedGeneration}`);
    }
    for (const [key, text] of moved)
      if (this.#moved.get(key)?.text !== text) this.#moved.set(key, { text, atMs: this.#nowMs });
  }

  #accused(object: Obj, pods: readonly Truth[]): void {
    const { namespace, name, uid } = object.metadata;
    const accusation = conditionsIn(object).find(({ reason }) => ACCUSATIONS.includes(reason));
    if (accusation === undefined || this.#nowMs - (this.#badMs.get(uid) ?? -Infinity) < RECOVERS_MS) return;
    const states = pods.map(({ state, cause }) => `${state}: ${cause}`).join(", ");
    this.#tell(
      `${uid} ${accusation.reason}`,
      `${namespace}/${name} says ${accusation.reason}, and all its pods work (${states}): ${accusation.message}`,
    );
  }

  #untold(object: Obj, pod: Truth): void {
    const withinMs = toldWithin(object, pod);
    const sinceMs = this.#nowMs - pod.sinceMs;
    const waitedMs = pod.cause === "workers-hang" ? Math.min(sinceMs, withinMs) : this.#waitedMs(pod);
    if (waitedMs < withinMs || waitedMs > JUDGED_MS) return;
    if (this.sight.calmSinceMs() < waitedMs + 5 * MINUTE) return;
    const said = conditionsIn(object).find(({ type }) => type === "ControllersActive");
    if (said?.status !== "True") return;
    const { namespace, name } = object.metadata;
    const minutes = Math.round(waitedMs / MINUTE);
    this.#tell(
      `${pod.uid} untold`,
      `${namespace}/${name} says ${said.reason}, and work of ${pod.name} is due for ${minutes} minutes (${pod.cause})`,
    );
  }

  /** For how long work is due. Only if the operator could see it all: the objects that were not due yet, the last move, and all since then. */
  #waitedMs({ namespace, name }: Truth): number {
    const { labels } = this.sight.store.get("pods", namespace, name)!.metadata;
    const key = `${namespace}/${labels?.["app"]}`;
    const movedMs = this.#moved.get(key)?.atMs ?? Infinity;
    const due = this.sight.store.list("widgets", namespace).filter(widget => keyOf(widget) === key);
    const dueMs = due.map(({ metadata }) => this.#dueMs.get(metadata.uid) ?? Infinity);
    // What was due before the last move is stuck alone.
    return this.#nowMs - Math.min(...dueMs.filter(ms => ms > movedMs));
  }

  #tell(key: string, sentence: string): void {
    if (this.#told.has(key)) return;
    this.#told.add(key);
    this.report(12, sentence);
  }
}

/** Of a program that has told of each object, only the metrics show that no worker is done. Infinity: nothing shows it. */
function toldWithin(object: Obj, { cause }: Truth): number {
  const { progress: [first] = [], metrics } = blockOf(object, "stallDetection");
  if (cause === "workers-hang") return metrics === undefined ? Infinity : BUSY_MS + TOLD_MS;
  return first === undefined ? Infinity : parseDuration(first.for || "15m") + TOLD_MS;
}

function isDue(widget: Obj): boolean {
  return (widget.status?.observedGeneration ?? Infinity) < (widget.metadata.generation ?? 0) && !isPaused(widget);
}

function keyOf({ metadata: { namespace, labels } }: Obj): string {
  return `${namespace}/${labels?.["app"]}`;
}
