import { FLOW_PREFIX, LEVELS_ANNOTATION } from "../../api/names";
import type { Intent } from "../../core/intent";
import { isManaged, isOwnedBy, isOwnedName } from "../../core/owned";
import type { ClusterObjectView } from "../../core/views";
import { buildDelete } from "./build";
import type { Owner } from "./facts";
import { isCommon } from "./levels";
import { levelOf } from "./standing";

/** What there is of flows and levels in the cluster. */
export interface Existing {
  readonly schemas: readonly ClusterObjectView[];
  readonly levels: readonly ClusterObjectView[];
}

/**
 * Deletes what was made for an object and is not wanted any more. A level goes after the last FlowSchema that refers to it, whoever's that
 * is: so the levels that objects share go with the last of these. Pure.
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
    ...flows.map(view => buildDelete(view, `The FlowSchema ${view.name} is not needed any more.`)),
    ...unused.map(view =>
      buildDelete(view, `No FlowSchema refers to the PriorityLevelConfiguration ${view.name} any more.`),
    ),
  ];
}

/** Whether the operator has made it for that object: somebody's copy of it has the labels, but no name of the operator's. Pure. */
export function isMadeFor(view: ClusterObjectView, owner: Owner): boolean {
  return isOwnedBy(view, owner) && isOwnedName(FLOW_PREFIX, view.name);
}

function isUnwanted({ name, deletedAtMs }: ClusterObjectView, isWanted: (name: string) => boolean): boolean {
  return deletedAtMs === undefined && !isWanted(name);
}

function isOurs(view: ClusterObjectView, owner: Owner): boolean {
  return isMadeFor(view, owner) || (isManaged(view) && isCommon(view.name));
}

/** Whether a FlowSchema refers to that level. One of the operator says of itself which it needs, also those that it is not on now. Pure. */
export function isUsed({ name }: { readonly name: string }, schemas: readonly ClusterObjectView[]): boolean {
  return schemas.some(schema => levelOf(schema) === name || needs(schema).includes(name));
}

function needs({ annotations }: ClusterObjectView): string[] {
  return (annotations[LEVELS_ANNOTATION] ?? "").split(",");
}
