import { FLOW_PREFIX, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../api/names";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/time";
import { ForbiddenError, publicMessage } from "../../core/errors";
import type { Intent } from "../../core/intent";
import { isManaged, isOwnedName, levelOf, levelsOf } from "../../core/owned";
import type { Key, Log, ObjectStore } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { Remedy } from "../../core/remedy";
import type { ClusterObjectView } from "../../core/views";
import type { Executor } from "../write/executor";

/** What the sweep needs. */
export interface LeftoversPorts {
  readonly readers: Pick<Readers, "clock" | "clusterObjects">;
  readonly store: Pick<ObjectStore, "get">;
  readonly remedies: readonly Pick<Remedy, "permissions">[];
  readonly executor: Pick<Executor, "executeUnowned">;
  readonly isLeader: () => boolean;
  readonly log: Log;
}

/**
 * Deletes the FlowSchemas that the operator made for a ControllerResilience that does not exist any more. Usually the finalizer has seen to that; a person may have removed it (docs/adr/0017-add-a-finalizer-only-when-needed.md).
 * Before a deletion it reads the owner: one that was made after the list is there.
 *
 * @param owners uids of all ControllerResiliences, as listed just now
 */
export async function deleteLeftovers(ports: LeftoversPorts, owners: ReadonlySet<string>): Promise<void> {
  const { readers, executor, log, remedies, isLeader } = ports;
  const { clock } = readers;
  const found = await withDeadline(clock, STORE_DEADLINE_MS, "looking for leftovers", () => readFlows(readers, log));
  const unowned = found.filter(view => isCandidate(view) && !owners.has(ownerOf(view)));
  const leftovers = [...unowned.filter(isThrottled), ...unowned.filter(view => !isThrottled(view))];
  const by = { name: "leftovers", permissions: remedies.flatMap(({ permissions }) => permissions) };
  for (const view of leftovers) {
    if (!(await isOwnerGone(view, ports))) continue;
    const outcome = await executor.executeUnowned(by, deletionOf(view), { log, mayWrite: isLeader });
    const fields = { kind: view.kind, name: view.name, owner: ownerKeyOf(view) };
    if (outcome.result === "Executed") log.warn(fields, "deleted a leftover");
  }
}

/** An owner that cannot be read may exist, and holds back no other leftover. */
async function isOwnerGone(view: ClusterObjectView, { readers, store, log }: LeftoversPorts): Promise<boolean> {
  const key = ownerKeyOf(view);
  try {
    const owner = await withDeadline(readers.clock, STORE_DEADLINE_MS, "reading the owner", () => store.get(key));
    return owner?.metadata.uid !== ownerOf(view);
  } catch (error) {
    log.warn({ name: view.name, owner: key, error: publicMessage(error) }, "failed to read the owner of a leftover");
    return false;
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
  const isNamed = ownerOf(view) !== "" && ownerKeyOf(view) !== "";
  return isManaged(view) && isNamed && isOwnedName(FLOW_PREFIX, view.name) && view.deletedAtMs === undefined;
}

function ownerOf({ labels }: ClusterObjectView): string {
  return labels[OWNER_UID_LABEL] ?? "";
}

function ownerKeyOf({ annotations }: ClusterObjectView): Key {
  return annotations[OWNER_ANNOTATION] ?? "";
}

/** Reports whether a FlowSchema throttles a client now: it is on another level than the one that it returns to. */
function isThrottled(view: ClusterObjectView): boolean {
  return levelOf(view) !== levelsOf(view)[0];
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
