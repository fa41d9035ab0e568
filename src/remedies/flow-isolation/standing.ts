import { isObject } from "../../core/json";
import type { ClusterObjectView } from "../../core/views";
import type { Wanted } from "./wanted";

/** How an object that is wanted stands. */
export type Standing =
  | { readonly is: "Missing" }
  /** It is there, and as it is to be. */
  | { readonly is: "AsWanted"; readonly view: ClusterObjectView }
  | { readonly is: "Different"; readonly view: ClusterObjectView }
  /** It is on its way out, and can be made anew when it is gone. */
  | { readonly is: "Going"; readonly view: ClusterObjectView }
  /** Its name belongs to something that the operator has not made. */
  | { readonly is: "Taken"; readonly view: ClusterObjectView };

/** How it stands, given all objects of its kind. Pure. */
export function standingOf(wanted: Wanted, views: readonly ClusterObjectView[]): Standing {
  const view = views.find(({ name }) => name === wanted.name);
  if (view === undefined) return { is: "Missing" };
  // Every label of ours is part of what it is known by: who made it, and for whom.
  if (!covers(view.labels, wanted.labels)) return { is: "Taken", view };
  if (view.deletedAtMs !== undefined) return { is: "Going", view };
  const isAsWanted = covers(view.spec, wanted.spec) && covers(view.annotations, wanted.annotations);
  return { is: isAsWanted ? "AsWanted" : "Different", view };
}

/** Whether everything that is wanted is there; fields beyond that are defaults of the API server. Lists have to be the same. */
function covers(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(actual) || actual.length !== wanted.length) return false;
    return wanted.every((element, i) => covers(actual[i], element));
  }
  if (!isObject(wanted)) return actual === wanted;
  return isObject(actual) && Object.entries(wanted).every(([key, value]) => covers(actual[key], value));
}

/** The level that a FlowSchema refers to. */
export function levelOf({ spec }: Pick<ClusterObjectView, "spec">): string | undefined {
  const reference = spec["priorityLevelConfiguration"];
  const name = isObject(reference) ? reference["name"] : undefined;
  return typeof name === "string" ? name : undefined;
}
