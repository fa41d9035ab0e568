import { FLOW_PREFIX, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../api/names";
import { type Cancel, withDeadline } from "../../core/time";
import { ForbiddenError, publicMessage } from "../../core/errors";
import type { Intent } from "../../core/intent";
import { isManaged, isOwnedName, levelOf, levelsOf } from "../../core/owned";
import type { Log, ObjectStore } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { Remedy } from "../../core/remedy";
import type { ClusterObjectView } from "../../core/views";
import type { Executor } from "../write/executor";

/** Time from the start of a term to its first sweep, and between two sweeps, in milliseconds. */
const INTERVAL_MS = 600_000;

/** Deadline of one sweep's reads, in milliseconds. */
const READ_DEADLINE_MS = 60_000;

/** Younger objects are left alone, in milliseconds. */
const MIN_AGE_MS = 600_000;

/** What the sweep needs. */
export interface LeftoversPorts {
  readonly store: Pick<ObjectStore, "uids">;
  readonly readers: Pick<Readers, "clock" | "clusterObjects">;
  readonly remedies: readonly Pick<Remedy, "permissions">[];
  readonly executor: Pick<Executor, "executeUnowned">;
  readonly isLeader: () => boolean;
  readonly log: Log;
}

/**
 * Deletes the FlowSchemas that the operator made for a ControllerResilience that does not exist any more. Usually the finalizer has seen to that; a person may have removed it (docs/adr/0017-add-a-finalizer-only-when-needed.md). Runs while this
 * process leads.
 */
export class Leftovers {
  readonly #ports: LeftoversPorts;
  #cancel: Cancel = () => undefined;
  #term = 0;

  constructor(ports: LeftoversPorts) {
    this.#ports = ports;
  }

  /** Starts the sweeps of a term of leadership. */
  start(): void {
    this.stop();
    this.#schedule(this.#term);
  }

  /** Ends the sweeps. */
  stop(): void {
    this.#term += 1;
    this.#cancel();
  }

  #schedule(term: number): void {
    this.#cancel = this.#ports.readers.clock.after(INTERVAL_MS, () => void this.#run(term));
  }

  async #run(term: number): Promise<void> {
    const mayWrite = (): boolean => this.#term === term && this.#ports.isLeader();
    try {
      await this.#sweep(mayWrite);
    } catch (error) {
      // Nothing is deleted without a complete list of the owners.
      this.#ports.log.warn({ error: publicMessage(error) }, "failed to look for leftovers of deleted objects");
    }
    if (this.#term === term) this.#schedule(term);
  }

  async #sweep(mayWrite: () => boolean): Promise<void> {
    const { readers, executor, log, remedies, store } = this.#ports;
    const { clock } = readers;
    const what = "looking for leftovers";
    const found = await withDeadline(clock, READ_DEADLINE_MS, what, () => readFlows(readers, log));
    const old = found.filter(view => isCandidate(view, clock.now().getTime()));
    if (old.length === 0) return;
    // Read after them: an object is younger than its owner.
    const owners = await withDeadline(clock, READ_DEADLINE_MS, what, () => store.uids());
    const unowned = old.filter(({ labels }) => !owners.has(labels[OWNER_UID_LABEL] ?? ""));
    const leftovers = [...unowned.filter(isThrottled), ...unowned.filter(view => !isThrottled(view))];
    const by = { name: "leftovers", permissions: remedies.flatMap(({ permissions }) => permissions) };
    for (const view of leftovers) {
      const intent = deletionOf(view);
      const outcome = await executor.executeUnowned(by, intent, { log, mayWrite });
      const fields = { kind: view.kind, name: view.name, owner: view.annotations[OWNER_ANNOTATION] };
      if (outcome.result === "Executed") log.warn(fields, "deleted a leftover");
    }
  }
}

/** Without the right to read FlowSchemas, the operator has made none. */
async function readFlows(readers: LeftoversPorts["readers"], log: Log): Promise<readonly ClusterObjectView[]> {
  try {
    return (await readers.clusterObjects("FlowSchema")) ?? [];
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    log.debug({ error: error.message }, "cannot look for leftovers");
    return [];
  }
}

/** A person's copy has the labels, but not the operator's form of name. */
function isCandidate(view: ClusterObjectView, nowMs: number): boolean {
  const { labels, name, createdAtMs, deletedAtMs } = view;
  const isOurs = isManaged(view) && (labels[OWNER_UID_LABEL] ?? "") !== "" && isOwnedName(FLOW_PREFIX, name);
  return isOurs && deletedAtMs === undefined && nowMs - createdAtMs >= MIN_AGE_MS;
}

/** Reports whether a FlowSchema throttles a client now: it is on another level than the one that it returns to. */
function isThrottled(view: ClusterObjectView): boolean {
  return levelOf(view) !== levelsOf(view)[0];
}

function deletionOf({ apiVersion, kind, name, uid, resourceVersion, annotations }: ClusterObjectView): Intent {
  const owner = `ControllerResilience ${annotations[OWNER_ANNOTATION] ?? "unknown"}`;
  return {
    verb: "delete",
    target: { apiVersion, kind, name, uid, resourceVersion },
    why: `${owner}, for which it was made, does not exist any more.`,
    eventReason: "LeftoverDeleted",
  };
}
