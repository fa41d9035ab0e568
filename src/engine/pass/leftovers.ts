import { FLOW_PREFIX, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../api/names";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/time";
import { ForbiddenError } from "../../core/errors";
import type { Intent } from "../../core/intent";
import { isManaged, isOwnedName, levelOf, QUARANTINE_LEVEL } from "../../core/owned";
import type { Log, ObjectStore } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { Remedy } from "../../core/remedy";
import type { ClusterObjectView } from "../../core/views";
import type { Executor } from "../write/executor";

/** What the sweep needs. */
export interface LeftoversPorts {
  readonly readers: Pick<Readers, "clock" | "clusterObjects">;
  readonly store: Pick<ObjectStore, "list">;
  readonly remedies: readonly Pick<Remedy, "permissions">[];
  readonly executor: Pick<Executor, "executeUnowned">;
  readonly isLeader: () => boolean;
  readonly log: Log;
}

/**
 * Deletes the FlowSchemas that the operator made for a ControllerResilience that does not exist any more. Usually the finalizer has seen to that; a person may have removed it (docs/adr/0017-add-a-finalizer-only-when-needed.md).
 * Before a deletion it lists the owners again: one that was made after the first list is there, whatever a person made of annotations.
 *
 * @param owners uids of all ControllerResiliences, as listed just now
 */
export async function deleteLeftovers(ports: LeftoversPorts, owners: ReadonlySet<string>): Promise<void> {
  const { readers, store, executor, log, remedies, isLeader } = ports;
  const { clock } = readers;
  const found = await withDeadline(clock, STORE_DEADLINE_MS, "looking for leftovers", () => readFlows(readers, log));
  const unowned = found.filter(view => isCandidate(view) && !owners.has(ownerOf(view)));
  if (unowned.length === 0) return;
  const { uids } = await withDeadline(clock, STORE_DEADLINE_MS, "listing the owners", () => store.list());
  const gone = unowned.filter(view => !uids.has(ownerOf(view)));
  const leftovers = [...gone.filter(isThrottled), ...gone.filter(view => !isThrottled(view))];
  const by = { name: "leftovers", permissions: remedies.flatMap(({ permissions }) => permissions) };
  for (const view of leftovers) {
    const outcome = await executor.executeUnowned(by, deletionOf(view), { log, mayWrite: isLeader });
    const fields = { kind: view.kind, name: view.name, owner: ownerKeyOf(view) };
    if (outcome.result === "Executed") log.warn(fields, "deleted a leftover");
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
function isCandidate(view: ClusterObjectView): boolean {
  const isOurs = isManaged(view) && ownerOf(view) !== "" && isOwnedName(FLOW_PREFIX, view.name);
  return isOurs && view.deletedAtMs === undefined;
}

function ownerOf({ labels }: ClusterObjectView): string {
  return labels[OWNER_UID_LABEL] ?? "";
}

/** For people: anybody who may write FlowSchemas may have changed it. */
function ownerKeyOf({ annotations }: ClusterObjectView): string {
  return annotations[OWNER_ANNOTATION] ?? "unknown";
}

/** Reports whether a FlowSchema throttles a client now. */
function isThrottled(view: ClusterObjectView): boolean {
  return levelOf(view) === QUARANTINE_LEVEL;
}

function deletionOf(view: ClusterObjectView): Intent {
  const { apiVersion, kind, name, uid, resourceVersion } = view;
  return {
    verb: "delete",
    target: { apiVersion, kind, name, uid, resourceVersion },
    why: `ControllerResilience ${ownerKeyOf(view)}, for which it was made, does not exist any more.`,
    eventReason: "LeftoverDeleted",
  };
}
