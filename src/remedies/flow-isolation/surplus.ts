import { FLOW_PREFIX, LEVELS_ANNOTATION } from "../../api/names";
import type { Intent } from "../../core/intent";
import { isManaged, isOwnedBy, isOwnedName } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import { buildDelete } from "./writes";
import type { Owner } from "./facts";
import { isCommon, levelOf } from "./levels";

/** The FlowSchemas and levels in the cluster. */
export interface Existing {
  readonly schemas: readonly ClusterObjectView[];
  readonly levels: readonly ClusterObjectView[];
}

/**
 * Deletes objects of an owner that are no longer wanted. A level is deleted after the last FlowSchema that refers to it, including those of other
 * owners, so a shared level is deleted with the last of them. Pure.
 *
 * @param isWanted by name
 */
export function buildSurplus(
  owner: Owner,
  { schemas, levels }: Existing,
  isWanted: (name: string) => boolean,
): Intent[] {
  const flows = schemas.filter(view => isMadeFor(view, owner) && isUnwanted(view, isWanted));
  const unused = levels.filter(view => isOurs(view, owner) && isUnwanted(view, isWanted) && !isUsed(view, schemas));
  return [
    ...flows.map(view => buildDelete(view, `FlowSchema ${view.name} is no longer needed.`)),
    ...unused.map(view =>
      buildDelete(view, `No FlowSchema refers to PriorityLevelConfiguration ${view.name} any more.`),
    ),
  ];
}

/** Reports whether the operator made it for that object. A person's copy has the labels, but not the operator's form of name. Pure. */
export function isMadeFor(view: ClusterObjectView, owner: Owner): boolean {
  return isOwnedBy(view, owner) && isOwnedName(FLOW_PREFIX, view.name);
}

function isUnwanted({ name, deletedAtMs }: ClusterObjectView, isWanted: (name: string) => boolean): boolean {
  return deletedAtMs === undefined && !isWanted(name);
}

function isOurs(view: ClusterObjectView, owner: Owner): boolean {
  return isMadeFor(view, owner) || (isManaged(view) && isCommon(view.name));
}

/** Reports whether a FlowSchema refers to that level. An annotation of the operator's FlowSchemas lists all levels that it may need. Pure. */
export function isUsed({ name }: { readonly name: string }, schemas: readonly ClusterObjectView[]): boolean {
  return schemas.some(schema => levelOf(schema) === name || needs(schema).includes(name));
}

function needs({ annotations }: ClusterObjectView): string[] {
  return (annotations[LEVELS_ANNOTATION] ?? "").split(",");
}
