import { isObject } from "../../core/json";
import type { ClusterObjectView } from "../../core/views";
import type { Wanted } from "./wanted";

/** A wanted object compared with the cluster. */
export type DesiredState =
  | { readonly is: "missing" }
  | { readonly is: "right"; readonly view: ClusterObjectView }
  | { readonly is: "different"; readonly view: ClusterObjectView }
  /** It is being deleted; it can be created again afterwards. */
  | { readonly is: "deleting"; readonly view: ClusterObjectView }
  /** An object that the operator did not make has its name. */
  | { readonly is: "foreign"; readonly view: ClusterObjectView };

/** Compares a wanted object with all objects of its kind. Pure. */
export function compare(wanted: Wanted, views: readonly ClusterObjectView[]): DesiredState {
  const view = views.find(({ name }) => name === wanted.name);
  if (view === undefined) return { is: "missing" };
  // The labels say who made it, and for which object.
  if (!covers(view.labels, wanted.labels)) return { is: "foreign", view };
  if (view.deletedAtMs !== undefined) return { is: "deleting", view };
  const isAsWanted = covers(view.spec, wanted.spec) && covers(view.annotations, wanted.annotations);
  return { is: isAsWanted ? "right" : "different", view };
}

/** Reports whether everything wanted is there. Further fields are the API server's defaults; lists must be equal. */
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
