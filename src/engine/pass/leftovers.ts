import { FLOW_PREFIX, OWNER_ANNOTATION, OWNER_UID_LABEL } from "../../api/names";
import { STORE_DEADLINE_MS, withDeadline } from "../../core/time";
import { ForbiddenError } from "../../core/errors";
import type { Intent } from "../../core/intent";
import { isManaged, isOwnedName, levelOf, levelsOf } from "../../core/owned";
import type { Log } from "../../core/ports";
import type { Readers } from "../../core/readers";
import type { Remedy } from "../../core/remedy";
import type { ClusterObjectView } from "../../core/views";
import type { Executor } from "../write/executor";

/** Younger objects are left alone, in milliseconds. */
const MIN_AGE_MS = 600_000;

/** What the sweep needs. */
export interface LeftoversPorts {
  readonly readers: Pick<Readers, "clock" | "clusterObjects">;
  readonly remedies: readonly Pick<Remedy, "permissions">[];
  readonly executor: Pick<Executor, "executeUnowned">;
  readonly isLeader: () => boolean;
  readonly log: Log;
}

/**
 * Deletes the FlowSchemas that the operator made for a ControllerResilience that does not exist any more. Usually the finalizer has seen to that; a person may have removed it (docs/adr/0017-add-a-finalizer-only-when-needed.md).
 *
 * @param owners uids of all ControllerResiliences, as listed just now: an object that is older than {@link MIN_AGE_MS} is younger than its owner
 */
export async function deleteLeftovers(ports: LeftoversPorts, owners: ReadonlySet<string>): Promise<void> {
  const { readers, executor, log, remedies, isLeader } = ports;
  const { clock } = readers;
  const found = await withDeadline(clock, STORE_DEADLINE_MS, "looking for leftovers", () => readFlows(readers, log));
  const unowned = found.filter(view => isCandidate(view, clock.now().getTime()) && !owners.has(ownerOf(view)));
  const leftovers = [...unowned.filter(isThrottled), ...unowned.filter(view => !isThrottled(view))];
  const by = { name: "leftovers", permissions: remedies.flatMap(({ permissions }) => permissions) };
  for (const view of leftovers) {
    const outcome = await executor.executeUnowned(by, deletionOf(view), { log, mayWrite: isLeader });
    const fields = { kind: view.kind, name: view.name, owner: view.annotations[OWNER_ANNOTATION] };
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
function isCandidate(view: ClusterObjectView, nowMs: number): boolean {
  const { name, createdAtMs, deletedAtMs } = view;
  const isOurs = isManaged(view) && ownerOf(view) !== "" && isOwnedName(FLOW_PREFIX, name);
  return isOurs && deletedAtMs === undefined && nowMs - createdAtMs >= MIN_AGE_MS;
}

function ownerOf({ labels }: ClusterObjectView): string {
  return labels[OWNER_UID_LABEL] ?? "";
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
